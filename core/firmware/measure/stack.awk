# The most stack that a function can take, in octets, from the disassembly of a program by llvm-objdump, for Arm of 32 and of 64 bits:
# the frame of each function on the deepest path that its calls allow, whether or not any input takes that path.
#
# Prints "not known" where the path has a function that calls itself, or a call through a pointer that `pointers` does not explain.
# `entry` is what the mangled name of the function contains. `pointers` has pairs A>B: a function whose name contains A calls
# through pointers none but those whose names contain B, and each of them is taken to be called.

function number(text) { return text ~ /^0x/ ? hexadecimal(substr(text, 3)) : text + 0 }

function hexadecimal(digits,   n, value) {
    for (n = 1; n <= length(digits); n++)
        value = value * 16 + index("0123456789abcdef", tolower(substr(digits, n, 1))) - 1
    return value
}

# The number after "#", without its sign.
function immediate(text) {
    return match(text, /#-?(0x)?[0-9a-f]+/) ? number(sub_sign(substr(text, RSTART + 1, RLENGTH - 1))) : 0
}

function sub_sign(text) { sub(/^-/, "", text); return text }

# Registers in braces, each of so many octets.
function registers(text, size,   list) { sub(/^[^{]*\{/, "", text); return split(text, list, ",") * size }

/^[0-9a-f]+ <.*>:$/ {
    function_ = $1
    sub(/^0*/, "", function_)
    split("", writer)
    name[function_] = $2
    if (index($2, entry) && from == "") from = function_
    next
}

function_ == "" { next }

{
    split($0, field, "\t")
    operation = field[2]
    operands = field[3]
}

operation ~ /^push/ || operation ~ /^stmdb/ && operands ~ /^sp!/ { frame[function_] += registers(operands, 4) }
operation ~ /^vpush/ { frame[function_] += registers(operands, 8) }
operation ~ /^sub/ && operands ~ /^sp, / {
    if (operands ~ /#/) frame[function_] += immediate(operands) * (operands ~ /lsl #12/ ? 4096 : 1)
    else boundless[function_]
}
operation ~ /^st/ && operands ~ /\[sp, #-.*\]!/ { frame[function_] += immediate(substr(operands, index(operands, "["))) }

# Through a pointer. A return goes to lr; on aarch64, a table of places in the same function has its address added up before.
operation ~ /^(blx|blr|bx)$/ && operands !~ /^(lr|0x)/ { opaque[function_] }
operation == "br" && writer[operands] != "add" { opaque[function_] }
{ split(operands, written, ","); writer[written[1]] = operation }

# To another function: with its address, and its name without an offset. A jump there comes after the frame is gone.
operation ~ /^b/ && operands ~ /^0x[0-9a-f]+ <[^+]*>/ {
    target = substr(operands, 3, index(operands, " ") - 3)
    kind = operation ~ /^bl(x)?$/ ? "call" : "jump"
    goes[function_] = goes[function_] " " kind ":" target
}

function deepest(function_,   list, n, count, most, below, way) {
    if (function_ in known) return known[function_]
    if (function_ in visiting) { is_unknown = 1; return 0 }
    if (function_ in boundless) is_unknown = 1
    visiting[function_]
    most = frame[function_] + 0
    count = split(goes[function_], list, " ")
    for (n = 1; n <= count; n++) {
        split(list[n], way, ":")
        if (way[2] == function_ && way[1] == "jump") continue
        below = deepest(way[2]) + (way[1] == "call" ? frame[function_] : 0)
        if (below > most) most = below
    }
    if (function_ in opaque) {
        below = frame[function_] + deepest_pointed_at(name[function_])
        if (below > most) most = below
    }
    delete visiting[function_]
    return known[function_] = most
}

# The same of whatever a function of that name calls through pointers.
function deepest_pointed_at(caller,   list, n, count, most, below, way, other, is_explained) {
    count = split(pointers, list, " ")
    for (n = 1; n <= count; n++) {
        split(list[n], way, ">")
        if (!index(caller, way[1])) continue
        for (other in name) {
            if (!index(name[other], way[2])) continue
            is_explained = 1
            below = deepest(other)
            if (below > most) most = below
        }
    }
    if (!is_explained) is_unknown = 1
    return most + 0
}

END {
    if (from == "") { print "no function is called " entry >"/dev/stderr"; exit 1 }
    octets = deepest(from)
    print is_unknown ? "not known" : octets
}
