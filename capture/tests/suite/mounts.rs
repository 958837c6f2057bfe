//! The mounts of `stats` and `diagnose`: versions, security, users, sizes and connections, against what tshark reads in the same captures
//! and against captures that were made for it.

use rpcrdma_answers::stats::{MountStatistics, Stats};
use rpcrdma_dissector::{Capture, Config, Event, Events, Summary};

use crate::diagnosis::{MILLISECOND, SECOND, SENDS_OF_4096, Scene, diagnose, text};
use crate::synthetic::By::Server;
use crate::synthetic::rpc::{Lists, MSG, NFS, message, words};
use crate::transcode;
use crate::twins::{ALONE, Carrier, Load};

fn mounts_of(events: impl IntoIterator<Item = Event>) -> Vec<MountStatistics> {
    let mut stats = Stats::default();
    events.into_iter().for_each(|event| stats.event(&event));
    stats.finish(&Summary::default()).mounts
}

fn shipped(name: &str) -> MountStatistics {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat();
    let events = Events::new(Capture::from_paths([path]), Config::default());
    let mounts = mounts_of(events.map(Result::unwrap));
    let [mount] = &mounts[..] else { panic!("{name}: {mounts:?}") };
    mount.clone()
}

fn made(scene: Scene) -> Vec<MountStatistics> {
    mounts_of(crate::connections::events(&scene.records()))
}

/// Octets that tshark reads as maxread, maxwrite, rtmax, wtmax; its lease_time, and slots of its CREATE_SESSION.
#[test]
fn options_are_those_that_tshark_reads() {
    let value = |number: Option<rpcrdma_answers::stats::MountNumber>| number.map(|number| number.value);
    for (name, versions, security, lease, slots) in [
        ("nfs3", &["NFSv3", "NFSACLv3"][..], "sys", None, None),
        ("nfs40", &["NFSv4.0"], "sys", Some(90), None),
        ("nfs41", &["NFSv4.1"], "sys", Some(90), Some([30, 16])),
        ("nfs41_krb5i", &["NFSv4.1"], "krb5i", Some(90), Some([30, 16])),
        ("iwarp_nfs41", &["NFSv4.1"], "sys", Some(90), Some([30, 16])),
    ] {
        let mount = shipped(name);
        let texts = |texts: &[rpcrdma_answers::stats::MountText]| {
            texts.iter().map(|text| text.value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (texts(&mount.versions), texts(&mount.security)),
            (versions.iter().map(|version| (*version).to_owned()).collect(), vec![security.to_owned()]),
            "{name}"
        );
        assert_eq!(
            (value(mount.max_read_octets), value(mount.max_write_octets)),
            (Some(262_144), Some(262_144)),
            "{name}"
        );
        assert_eq!(value(mount.read_octets), Some(131_072), "{name}");
        assert_eq!(value(mount.lease_seconds), lease, "{name}");
        assert_eq!(mount.session.map(|session| [session.slots, session.callback_slots]), slots, "{name}");
        let inline = mount.inline.map(|inline| [inline.call_octets, inline.reply_octets]);
        assert_eq!((inline, mount.connections, mount.connections_at_a_time), (Some([4096; 2]), 1, 1), "{name}");
        let users: Vec<_> = mount.users.iter().map(|user| (user.uid, user.gid, user.machine.as_str())).collect();
        assert_eq!(users, if security == "sys" { vec![(0, 0, "client")] } else { vec![] }, "{name}");
        assert_eq!(texts(&mount.paths), if lease.is_some() { vec!["/"] } else { vec![] }, "{name}");
    }
}

/// The frame of each option is the first that shows it.
#[test]
fn options_have_the_frames_that_show_them() {
    let mount = shipped("nfs41");
    let lines = mount.lines().join("\n");
    for line in [
        "NFSv4.1 (frame 28); sys (frame 28); 1 connection",
        "uid 0, gid 0 of machine client (frame 28)",
        "largest READ: 131,072 bytes (frame 995), the server allows 262,144 (frame 62)",
        "largest WRITE: 65,536 bytes (frame 693), the server allows 262,144 (frame 62)",
        "session of 30 slots, 16 of callbacks; calls of up to 266,240 bytes, replies of up to 266,240 (frame 42)",
        "lease of 90 s (frame 62)",
    ] {
        assert!(lines.contains(line), "{line}\n{lines}");
    }
    let words = text(&diagnose(&transcode::capture("nfs41"))).replace('\n', " ");
    let mounted = "mount: NFSv4.1, sec=sys, READs of up to 131,072 bytes, WRITEs of up to 65,536 bytes, 30 slots";
    assert!(words.contains(mounted), "{words}");
}

/// A call of GETATTR with this flavor and body of its credential.
fn getattr(xid: u32, flavor: u32, body: &[u32]) -> Vec<u8> {
    let length = 4 * body.len() as u32;
    words(&[&[xid, 0, 2, NFS, 3, 1, flavor, length][..], body, &[0, 0, 4, 0xfeed]].concat())
}

/// Sixteen calls in flight, of three users; and one without a user, of another client.
#[test]
fn users_and_security_are_those_of_each_mount() {
    let load = Load { calls: 16, carrier: Carrier::Roce };
    let mut scene = Scene::with(load, 2, &SENDS_OF_4096);
    // AUTH_SYS (RFC 5531 appendix A): stamp, machine name, uid, gid, no other groups.
    let name = u32::from_be_bytes(*b"box7");
    for number in 0..16 {
        let xid = scene.next_xid();
        let user = 1000 + number % 3;
        let call = message(MSG, xid, &Lists::default(), &getattr(xid, 1, &[0, 4, name, user, 100, 0]));
        let call = scene.send(0, crate::synthetic::By::Client, &call);
        scene.at(SECOND + 10 * u64::from(number), &call);
    }
    let xid = scene.next_xid();
    let call =
        scene.send(1, crate::synthetic::By::Client, &message(MSG, xid, &Lists::default(), &getattr(xid, 0, &[])));
    scene.at(SECOND, &call);
    let [first, second] = &made(scene)[..] else { panic!() };
    let users: Vec<_> = first.users.iter().map(|user| (user.uid, user.gid, user.machine.as_str())).collect();
    assert_eq!(users, [(1000, 100, "box7"), (1001, 100, "box7"), (1002, 100, "box7")]);
    let security = |mount: &MountStatistics| mount.security.iter().map(|text| text.value.clone()).collect::<Vec<_>>();
    assert_eq!(
        (security(first), security(second), second.users.len()),
        (vec!["sys".to_owned()], vec!["none".to_owned()], 0)
    );
}

/// Calls of two users of one machine, one of whom waits, and one without a user.
#[test]
fn top_by_user_tells_users_and_machines_apart() {
    let mut scene = Scene::new(1, &SENDS_OF_4096);
    let name = u32::from_be_bytes(*b"box7");
    let sys = |uid| (1, vec![0, 4, name, uid, 100, 0]);
    for (number, (flavor, body)) in [sys(1000), sys(1000), sys(7), (0, vec![])].into_iter().enumerate() {
        let xid = scene.next_xid();
        let call = scene.send(
            0,
            crate::synthetic::By::Client,
            &message(MSG, xid, &Lists::default(), &getattr(xid, flavor, &body)),
        );
        let time = SECOND + 10 * MILLISECOND * number as u64;
        scene.at(time, &call);
        scene.acknowledge(0, Server, time + 5);
        if number != 2 {
            scene.answer(0, xid, time + MILLISECOND);
        }
    }
    scene.until(3 * SECOND);
    let file = crate::gaps::written("users.pcap", &scene.records());
    let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let done = crate::command::run(arguments);
        crate::command::stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let rows = json(&["top", "--quiet", "--json", "--by", "user", &file]);
    let mut rows: Vec<_> = rows
        .iter()
        .filter(|row| row["type"] == "top")
        .map(|row| (row["user"].to_string(), row["calls"].clone()))
        .collect();
    rows.sort_by_key(|(user, _)| user.clone());
    let user = |flavor: &str, [uid, gid, machine]: [serde_json::Value; 3]| {
        serde_json::json!({"flavor": flavor, "uid": uid, "gid": gid, "machine": machine}).to_string()
    };
    let mut expected = vec![
        (user("sys", [7.into(), 100.into(), "box7".into()]), 1.into()),
        (user("sys", [1000.into(), 100.into(), "box7".into()]), 2.into()),
        (user("none", [(); 3].map(|()| serde_json::Value::Null)), 1.into()),
    ];
    expected.sort_by_key(|(user, _): &(String, serde_json::Value)| user.clone());
    assert_eq!(rows, expected);
    let done = crate::command::run(&["top", "--by", "user", &file]);
    let text = crate::command::stdout(&done);
    assert!(
        ["uid 7, gid 100 of box7", "uid 1000, gid 100 of box7", "none (AUTH_NONE)"]
            .iter()
            .all(|user| text.contains(user)),
        "{text}"
    );
    let waiting = json(&["pending", "--quiet", "--json", &file]);
    assert_eq!((&waiting[0]["user"]["uid"], &waiting[0]["user"]["machine"]), (&7.into(), &"box7".into()));
    let csv = crate::command::run(&["transactions", "--quiet", "--csv", &file]);
    let heading = crate::command::stdout(&csv).lines().next().unwrap();
    for column in ["user_flavor", "user_uid", "user_gid", "user_machine", "file_name", "path", "offset", "count"] {
        assert!(heading.split(',').any(|name| name == column), "{column}: {heading}");
    }
}

/// Calls of RPCSEC_GSS name no user.
#[test]
fn a_call_of_rpcsec_gss_has_no_uid() {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/nfs41_krb5i.pcap"].concat();
    let done = crate::command::run(&["top", "--by", "user", &path]);
    let text = crate::command::stdout(&done);
    assert!(text.contains("RPCSEC_GSS (its calls name no uid)"), "{text}");
}

/// Four connections side by side, one of which is replaced: five, and four at a time.
#[test]
fn simultaneous_connections_are_distinguished_from_successive_ones() {
    let mut scene = Scene::with(ALONE, 4, &SENDS_OF_4096);
    scene.wires.iter_mut().for_each(|wire| wire.client.host = 10);
    scene.reconnect_all(SECOND);
    (0..4).for_each(|wire| scene.rpcs(wire, 2, (2 * SECOND, MILLISECOND), 100));
    scene.disconnect(2, Server, 3 * SECOND);
    scene.reconnect(2, 4 * SECOND);
    scene.rpcs(2, 2, (5 * SECOND, MILLISECOND), 100);
    let mounts = made(scene);
    let mount = mounts.iter().find(|mount| mount.client == "192.0.2.10").unwrap();
    // The first client had a connection of its own before, which nobody ended.
    assert_eq!((mount.connections, mount.connections_at_a_time), (6, 5));
}
