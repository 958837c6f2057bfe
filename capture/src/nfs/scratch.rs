use super::grammar::*;
use super::*;
struct Rng(u64);
impl Rng { fn next(&mut self, n: u64) -> u64 { self.0 ^= self.0 << 13; self.0 ^= self.0 >> 7; self.0 ^= self.0 << 17; self.0 % n } }
fn w(out: &mut Vec<u8>, v: u32) { out.extend(v.to_be_bytes()); }
fn emit(items: Xdr, r: &mut Rng, out: &mut Vec<u8>) {
    for item in items { match *item {
        Item::Fixed(n) => for _ in 0..n / 4 { w(out, 1) },
        Item::Opaque => { let n = r.next(7); w(out, n as u32); for _ in 0..n { out.push(b'a'); } while out.len() % 4 != 0 { out.push(0); } }
        Item::Data => { let n = r.next(70); w(out, n as u32); for _ in 0..n { out.push(b'd'); } while out.len() % 4 != 0 { out.push(0); } }
        Item::Words => w(out, 0),
        Item::Array(i) => { let n = r.next(3); w(out, n as u32); for _ in 0..n { emit(i, r, out) } }
        Item::Optional(i) => { let n = r.next(2); w(out, n as u32); for _ in 0..n { emit(i, r, out) } }
        Item::List(i) => { let n = r.next(3); for _ in 0..n { w(out, 1); emit(i, r, out) } w(out, 0) }
        Item::Union(arms, d) => { let n = r.next(arms.len() as u64 + u64::from(d.is_some())) as usize; if n < arms.len() { w(out, arms[n].0); emit(arms[n].1, r, out) } else { w(out, (0..).find(|v| !arms.iter().any(|a| a.0 == *v)).unwrap()); emit(d.unwrap(), r, out) } }
        Item::Structure(i) => if i.len() == 2 && matches!(i[0], Item::Words) { w(out, 0); w(out, 0) } else { emit(i, r, out) },
        Item::Operations(_) | Item::OperationResults(_) => unreachable!(),
    } }
}
fn result(res: &Results, r: &mut Rng, out: &mut Vec<u8>) {
    match *res { Results::Plain(i) => emit(i, r, out), Results::Status { ok, errors, otherwise } => {
        let n = r.next(errors.len() as u64 + 2) as usize;
        if n < errors.len() { w(out, errors[n].0); emit(errors[n].1, r, out) } else if n == errors.len() { w(out, 0); emit(ok, r, out) } else { w(out, 5); emit(otherwise, r, out) }
    } }
}
#[test]
fn generate() {
    let mut r = Rng(88172645463325252);
    let mut xid = 1;
    let mut text = String::new();
    let mut put = |proc: Procedure, args: &[u8], res: &[u8], tag: &str| {
        xid += 1;
        let mut call = Vec::new(); for v in [xid, 0, 2, proc.program, proc.version, proc.procedure, 0, 0, 0, 0] { w(&mut call, v) } call.extend(args);
        let mut reply = Vec::new(); for v in [xid, 1, 0, 0, 0, 0] { w(&mut reply, v) } reply.extend(res);
        let hex = |b: &[u8]| b.iter().map(|x| format!("{x:02x}")).collect::<String>();
        text += &format!("{tag} {} {}\n", hex(&call), hex(&reply));
        let (a, b) = (arguments(proc, proc.program == 0x40000000, args, 40, Reduced::Call(&[])), results(proc, proc.program == 0x40000000, res, Reduced::Reply(&[])));
        assert_eq!((a.end, a.consumed), (Ok(()), args.len()), "{tag}");
        assert_eq!((b.end, b.consumed), (Ok(()), res.len()), "{tag}");
    };
    for (table, program) in [(v4::PROCEDURES, Procedure::NFS), (callback::PROCEDURES, 0x4000_0000)] {
        let Item::Operations(ops) = *table[1].arguments.last().unwrap() else { panic!() };
        let last = ops.iter().find(|o| o.code == if program == Procedure::NFS { 22 } else { 10 }).unwrap();
        for op in ops { for _ in 0..24 {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            w(&mut a, 0); w(&mut a, 2); if program != Procedure::NFS { w(&mut a, 0) } w(&mut a, 2);
            w(&mut b, 0); w(&mut b, 0); w(&mut b, 2);
            for row in [op, last] { w(&mut a, row.code); emit(row.arguments, &mut r, &mut a); w(&mut b, row.code); result(&row.results, &mut r, &mut b); }
            put(Procedure { program, version: if program == Procedure::NFS { 4 } else { 1 }, procedure: 1 }, &a, &b, &format!("{}:{}", if program == Procedure::NFS { "op" } else { "cb" }, op.code));
        } }
    }
    for (table, program, version) in [(v2::PROCEDURES, 100003, 2), (v3::PROCEDURES, 100003, 3), (mount::PROCEDURES_V1, 100005, 1), (mount::PROCEDURES_V2, 100005, 2), (mount::PROCEDURES_V3, 100005, 3), (acl::PROCEDURES_V2, 100227, 2), (acl::PROCEDURES_V3, 100227, 3)] {
        for row in table { for _ in 0..16 {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            emit(row.arguments, &mut r, &mut a); result(&row.results, &mut r, &mut b);
            put(Procedure { program, version, procedure: row.code }, &a, &b, &row.name.replace(' ', "_"));
        } }
    }
    std::fs::write("/tmp/nfs-gen.txt", text).unwrap();
}
