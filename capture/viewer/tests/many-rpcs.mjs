// A capture of as many RPCs as wanted: the end of nfs3.pcap, again and again, each time later and with other XIDs and packet numbers.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { captures } from "./page.mjs";

const HEADER = 24;
const RECORD = 16;
/** Offset of the base transport header in an Ethernet frame with IPv4 and UDP, and of the packet number and the payload in it. */
const BTH = 14 + 20 + 8;
const PSN = BTH + 8;
const PAYLOAD = BTH + 12;
/** Frames of the capture that are repeated: nine RPCs of a few operations, with their acknowledgements. */
const FIRST = 1318;
const LAST = 1353;
/** Nanoseconds from a frame to the next: from 10 microseconds to 2 milliseconds, the same in each run. */
const apart = (place) => 10_000 + (Math.imul(place, 2_654_435_761) >>> 0) % 1_990_000;
/** Opcodes of RC: Sends, of which each may begin a message, and acknowledgements (InfiniBand Architecture, volume 1, table 38). */
const SENDS = [0, 1, 2, 3, 4, 5];

/** The frames of a capture, each with its record. */
function frames(capture) {
  const found = [];
  for (let at = HEADER; at < capture.length;) {
    const end = at + RECORD + capture.readUInt32LE(at + 8);
    found.push(Buffer.from(capture.subarray(at, end)));
    at = end;
  }
  return found;
}

const packetNumber = (frame) => frame.readUIntBE(RECORD + PSN + 1, 3);
const isSend = (frame) => SENDS.includes(frame[RECORD + BTH]);
const sender = (frame) => frame.readUInt32BE(RECORD + 26);

/** A packet of the round, and what is written into it each time. */
function packet(frame, xids) {
  const places = [];
  for (let at = RECORD + PAYLOAD; isSend(frame) && at + 4 <= frame.length; at += 4) {
    const order = xids.indexOf(frame.readUInt32BE(at));
    if (order >= 0) places.push([at, order]);
  }
  return { frame, psn: packetNumber(frame), places };
}

/** Writes a capture of at least `wanted` RPCs, and returns their number. */
export function writeManyRpcs(path, wanted) {
  const capture = readFileSync(join(captures, "nfs3.pcap"));
  const round = frames(capture).slice(FIRST - 1, LAST).filter((frame) => frame.readUInt16BE(RECORD + 12) === 0x0800 && frame[RECORD + 23] === 17);
  const xids = [...new Set(round.filter(isSend).map((frame) => frame.readUInt32BE(RECORD + PAYLOAD)))];
  // Requester and responder send as many packets with numbers of their own, and acknowledge those of the other.
  const numbered = (end) => new Set(round.filter((frame) => isSend(frame) && sender(frame) === end).map(packetNumber)).size;
  const ends = [...new Set(round.map(sender))];
  const advance = new Map(ends.map((end, place) => [end, { own: numbered(end), other: numbered(ends[1 - place]) }]));
  const packets = round.map((frame) => packet(frame, xids));
  const rounds = Math.ceil(wanted / xids.length);
  const file = openSync(path, "w");
  try {
    writeSync(file, capture.subarray(0, HEADER));
    const [second, fraction] = [round[0].readUInt32LE(0), round[0].readUInt32LE(4)];
    const digits = capture.readUInt32LE(0) === 0xa1b23c4d ? 1e9 : 1e6;
    let time = fraction * (1e9 / digits);
    for (let turn = 0; turn < rounds; turn++) {
      const chunk = packets.map(({ frame, psn, places }, place) => {
        time += apart(turn * packets.length + place);
        frame.writeUInt32LE(second + Math.floor(time / 1e9), 0);
        frame.writeUInt32LE(Math.floor((time % 1e9) / (1e9 / digits)), 4);
        const { own, other } = advance.get(sender(frame));
        frame.writeUIntBE((psn + turn * (isSend(frame) ? own : other)) % (1 << 24), RECORD + PSN + 1, 3);
        for (const [at, order] of places) frame.writeUInt32BE(turn * xids.length + order + 1, at);
        return Buffer.from(frame);
      });
      writeSync(file, Buffer.concat(chunk));
    }
  } finally {
    closeSync(file);
  }
  return rounds * xids.length;
}
