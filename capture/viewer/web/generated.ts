// Made of the types of the dissector by `UPDATE_EXPECT=1 cargo test typescript`: do not edit.

export type Diagnosis = ShownDiagnosis;

export type Row = ShownRow;

export type Group = readonly [string, readonly string[]];

export type Findings = ShownFindings;

export type SaveFormat = Format;

export interface ArgumentsObject {
  readonly name: string;
  readonly handle: HandleObject | null;
  readonly file_name: string | null;
  readonly new_file_name: string | null;
  readonly offset: number | null;
  readonly count: number | null;
  readonly stateid: string | null;
  readonly write: WriteObject | null;
  readonly session: SessionObject | null;
  readonly server: ServerObject | null;
  readonly named_handle: HandleObject | null;
  readonly offload: OffloadObject | null;
}

export interface BothEndsObject {
  readonly second_call_frame: number | null;
  readonly second_reply_frame: number | null;
  readonly requester_latency_ns: number;
  readonly responder_latency_ns: number;
  readonly requester_ns: number | null;
  readonly network_ns: number | null;
  readonly responder_ns: number | null;
  readonly way_there_least_ns: number | null;
  readonly way_there_most_ns: number | null;
  readonly way_back_least_ns: number | null;
  readonly way_back_most_ns: number | null;
}

export interface CompoundObject {
  readonly name: string;
  readonly number: number;
  readonly status: NumberedObject | null;
}

export interface CreditsObject {
  readonly granted: number;
  readonly maximum: number;
  readonly limit: number | null;
}

/** A mount, with the options in words. */
export interface DiagnosedMount {
  /** Address of the client. */
  readonly client: string;
  /** Address of the server: of several addresses, the one that was used first. */
  readonly server: string;
  /** The client and the server, with all addresses: several belong to one server if EXCHANGE_ID says so. */
  readonly ends: string;
  /** Versions, security, the largest READ and WRITE, and slots, as far as the capture shows these. */
  readonly options: string;
  /** Promises above RPC in words, a line for each kind. */
  readonly promises: readonly string[];
  /** All that the capture shows of the mount, in lines with the frames that show it. */
  readonly lines: readonly string[];
}

export interface ErrorObject {
  readonly code: string;
  readonly low: number | null;
  readonly high: number | null;
  readonly max_chunks: number | null;
  readonly max_segments: number | null;
  readonly chunk_index: number | null;
  readonly length_needed: number | null;
}

/** An RPC with everything that the capture shows of the RPC. */
export interface Explained {
  /** The record of `rpcrdma explain --json`. */
  readonly record: Explain;
  /** XID, connection, operation and latency. */
  readonly title: string;
  /** The text of `rpcrdma explain`. */
  readonly text: string;
  /** The messages, field by field. */
  readonly messages: readonly ShownMessage[];
  /** The rules that the RPC breaks, in the order of the findings. */
  readonly rules: readonly ShownRule[];
  /** HTML of the report; null if the capture holds no packet of the RPC. */
  readonly diagram: string | null;
  /** HTML of the report; null without known phases. */
  readonly phases: string | null;
  /** The files of the capture: the number of the first frame of each, and the name. */
  readonly files: readonly (readonly [number, string])[];
}

/** Format of a file to save. */
export type Format = "csv" | "tcp" | "annotated";

export interface HalfObject {
  readonly form: string;
  readonly inline_octets: number | null;
  readonly rebuilt: boolean;
  readonly length_octets: number | null;
  readonly reason: string | null;
}

export interface HandleObject {
  readonly hash: string;
  readonly octets: string;
  readonly file_name: string | null;
  readonly path: string | null;
}

/** The heading of a column. */
export interface Heading {
  /** Name of the column in a query, and in the address of the page. */
  readonly name: string;
  readonly title: string;
  /** `true` if the cells are numbers, which stand at the right. */
  readonly is_number: boolean;
  /** `true` if the largest value comes first. */
  readonly is_descending: boolean;
  /** Meaning of an order by the column, if the title does not say it. */
  readonly meaning: string;
}

export interface Incomplete {
  readonly captured_octets: number;
  readonly missing: string;
}

export interface KeptObject {
  readonly kind: string;
  readonly end: string;
  readonly call_frame: number;
  readonly time_ns: number;
  readonly waited_ns: number | null;
  readonly refusals: number;
  readonly status: string | null;
  readonly holder: string | null;
  readonly recall_frame: number | null;
  readonly copied_octets: number | null;
}

export interface KernelObject {
  readonly queue_ns: number | null;
  readonly registration_ns: number | null;
  readonly round_trip_ns: number | null;
  readonly server_queue_ns: number | null;
  readonly rdma_read_ns: number | null;
  readonly served_ns: number | null;
  readonly execution_ns: number | null;
  readonly file_system_ns: number | null;
  readonly transmissions: number | null;
  readonly without_packets: boolean;
}

export interface Malformed {
  readonly kind: string;
  readonly offset_octets: number;
  readonly reaction: Reactions;
}

export interface MirrorSessionObject {
  readonly encapsulation: string;
  readonly id: number;
}

export interface MsgpObject {
  readonly rdma_align: number;
  readonly rdma_thresh: number;
  readonly padding_octets: number | null;
}

/** Kind of RPC to step to. */
export type Notable = "slow" | "failed" | "waiting";

export interface NumberedObject {
  readonly name: string | null;
  readonly number: number;
}

export interface OffloadObject {
  readonly synchronous: boolean | null;
  readonly consecutive: boolean | null;
  readonly callback_stateid: string | null;
  readonly copied_octets: number;
  readonly committed: string | null;
  readonly status: number | null;
}

export interface PacketRunObject {
  readonly first_frame: number;
  readonly last_frame: number;
  readonly time_ns: number;
  readonly last_time_ns: number;
  readonly since_first_ns: number;
  readonly since_before_ns: number;
  readonly from: string;
  readonly to: string;
  readonly step: string | null;
  readonly recovery: string | null;
  readonly silence_ns: number | null;
  readonly wait_ns: number | null;
  readonly discarded: boolean;
  readonly packets: number;
  readonly octets: number;
}

/** The parts of the time of an RPC, in nanoseconds. */
export interface PhasesObject {
  /** The packets of the call. */
  readonly call_ns: number;
  /** No packet; the next was due from the responder. */
  readonly responder_ns: number;
  /** RDMA Reads: from the first request to the last response. */
  readonly rdma_read_ns: number;
  /** RDMA Writes. */
  readonly rdma_write_ns: number;
  /** The packets of the reply. */
  readonly reply_ns: number;
  /** No packet; the next was due from the requester. */
  readonly requester_ns: number;
}

export interface Plain {
  readonly segments: readonly SegmentObject[];
}

export interface PropertyObject {
  readonly id: number;
  readonly name: string | null;
  readonly number: number | null;
  readonly meaning: string | null;
  readonly octets: string | null;
}

/** Rows that pass a filter, sorted by a column. */
export interface Query {
  readonly filter: string;
  /** Name of the column. */
  readonly sort: string;
  readonly descending: boolean;
}

export interface Reactions {
  readonly requester: string;
  readonly responder: string;
}

export interface ReadObject {
  readonly position: number;
  readonly segments: readonly SegmentObject[];
}

/** Progress of reading. */
export interface ReadingProgress {
  readonly rpcs: number;
  /** Nanoseconds since 1970 as text: a number of the page would be rounded. */
  readonly first_ns: string;
  readonly duration_ns: number;
  readonly ended: boolean;
  /** Frames that were read before the user stopped reading; null if reading was not stopped. */
  readonly stopped_after: number | null;
  /** Counts of the frames and RPCs read so far, in words. */
  readonly status: string;
  /** RPCs and findings that the page does not show, and reasons why files could not be read. */
  readonly notes: readonly string[];
}

export interface RecoveryObject {
  readonly ns: number;
  readonly timeouts: number;
  readonly implied_naks: number;
  readonly causes_not_seen: number;
  readonly retransmitted_packets: number;
  readonly naks: number;
  readonly rnr_naks: number;
  readonly rnr_wait_ns: number;
  readonly unassigned_indications: number;
  readonly frames: readonly number[];
  readonly frames_left_out: number;
}

export interface RpcObject {
  readonly direction: string;
  readonly reverse: boolean;
  readonly program_guessed: boolean;
  readonly program: number | null;
  readonly version: number | null;
  readonly procedure: number | null;
  readonly name: string | null;
  readonly operation: string;
  readonly operations: readonly CompoundObject[] | null;
  readonly security: string | null;
  readonly status: NumberedObject | null;
  readonly nfs_status: NumberedObject | null;
}

export interface RpcUser {
  readonly flavor: string;
  readonly uid: number | null;
  readonly gid: number | null;
  readonly machine: string | null;
}

export interface SegmentObject {
  readonly handle: string;
  readonly length: number;
  readonly offset: string;
}

export interface SequenceObject {
  readonly session_id: string;
  readonly sequence_id: number;
  readonly slot_id: number;
  readonly highest_slot_id: number | null;
  readonly cache_this: boolean | null;
  readonly reply_highest_slot_id: number | null;
  readonly target_highest_slot_id: number | null;
  readonly status_flags: readonly string[] | null;
}

export interface ServerObject {
  readonly client_id: string | null;
  readonly major_id: string;
  readonly minor_id: number;
  readonly scope: string;
}

export interface SessionObject {
  readonly client_id: string | null;
  readonly session_id: string | null;
  readonly slots_asked: number | null;
  readonly slots: number | null;
  readonly callback_slots_asked: number | null;
  readonly callback_slots: number | null;
  readonly call_octets: number | null;
  readonly reply_octets: number | null;
}

export interface ShownCause {
  readonly cause: string;
  readonly title: string;
  readonly weight: string;
  readonly falls_on: string | null;
  readonly evidence: readonly string[];
  readonly since: string | null;
  /** Words before the frames. */
  readonly examples_are: string | null;
  /** Frames that show the cause: numbers, and names on the page. */
  readonly examples: readonly (readonly [number, string])[];
  readonly command: string;
  /** The filter that selects the counted RPCs, and the number of RPCs in words; null without any. */
  readonly rpcs: readonly [string, string] | null;
}

/** The diagnosis: the record, and the words of the report. */
export interface ShownDiagnosis {
  /** The record of `rpcrdma diagnose --json`. */
  readonly record: unknown;
  readonly summary: readonly string[];
  /** Sentence for a diagnosis without a cause. */
  readonly sound: string | null;
  readonly causes: readonly ShownCause[];
  readonly limits: readonly string[];
  readonly mounts: readonly DiagnosedMount[];
}

/** A line of the tree that `rpcrdma explain` prints. */
export interface ShownField {
  /** The octets of the field: the first, and the one after the last. Null for a field outside of the Send. */
  readonly octets: readonly [number, number] | null;
  /** Number of fields that contain this field. */
  readonly depth: number;
  readonly name: string;
  readonly value: string;
  /** `true` for a line that says what is wrong. */
  readonly is_fault: boolean;
}

/** Findings for the page. */
export interface ShownFindings {
  /** Number of selected findings in words, and of findings that the filter cannot judge. */
  readonly count: string;
  readonly records: readonly Finding[];
}

/** A message of an RPC. */
export interface ShownMessage {
  readonly title: string;
  /** The first captured octets of the Send in hexadecimal digits. */
  readonly octets: string;
  /** Octets beyond these. */
  readonly octets_left_out: number;
  readonly fields: readonly ShownField[];
}

/** A row for the page: numbers of the record, and the cells. Times are since the first frame: the page's numbers hold 53 bits. */
export interface ShownRow {
  readonly index: number;
  readonly connection: number;
  /** Number of tries. */
  readonly tries: number;
  readonly xid: string;
  readonly time_ns: number;
  readonly latency_ns: number | null;
  readonly phases: PhasesObject | null;
  readonly recovery_ns: number;
  readonly retransmitted_packets: number;
  readonly call_frame: number | null;
  readonly reply_frame: number | null;
  readonly operations: string;
  readonly failed: boolean;
  readonly waiting: boolean;
  readonly read_octets: number;
  readonly write_octets: number;
  /** Seconds since the first frame. */
  readonly seconds: string;
  /** Cells by the names of the columns. */
  readonly cells: Readonly<Record<string, string>>;
}

/** A rule, with the explanations of `rpcrdma check --explain`. */
export interface ShownRule {
  readonly rule: string;
  readonly summary: string;
  readonly reason: string;
  readonly correct: string;
}

/** An RPC of a kind, and the place among all RPCs of that kind. */
export interface Stepped {
  readonly index: number;
  /** Counted from 1. */
  readonly place: number;
  readonly count: number;
  /** True if the step went from one end to the other. */
  readonly is_round: boolean;
}

export interface StretchObject {
  readonly phase: string;
  readonly time_ns: number;
  readonly duration_ns: number;
}

/** Charts, and the times that the page needs for a selection in a chart. Times are nanoseconds since the first frame. */
export interface Timeline {
  /** HTML of the report. */
  readonly charts: string;
  /** Sentences about parts of the selection that are missing from the charts. */
  readonly notes: readonly string[];
  /** The time that the charts show. */
  readonly start_ns: number;
  readonly width_ns: number;
  /** Length of an interval. */
  readonly interval_ns: number;
  /** Time of the last frame. */
  readonly last_ns: number;
  /** The time that the filter selects; null for an end that is open. */
  readonly since_ns: number | null;
  readonly until_ns: number | null;
}

export interface TryObject {
  readonly connection: number;
  readonly call_frame: number;
  readonly time_ns: number;
  readonly reply_frame: number | null;
  readonly ended: string;
  readonly disconnected_by: string | null;
  readonly disconnect_frame: number | null;
  readonly execution: string;
}

export interface VersionTwoObject {
  readonly rdma_htype: string;
  readonly family: string | null;
  readonly credit: CreditsObject | null;
  readonly rdma_flags: readonly string[] | null;
  readonly rdma_remaining: number | null;
  readonly rdma_inv_handle: string | null;
  readonly call: readonly ReadObject[] | null;
  readonly properties: readonly PropertyObject[] | null;
  readonly earlier_octets: number;
  readonly dropped: string | null;
}

export interface WriteObject {
  readonly stable_how: string | null;
  readonly count: number | null;
  readonly committed: string | null;
}

export interface Event {
  readonly type: "event";
  readonly schema: 1;
  readonly frame: number;
  readonly file: string | null;
  readonly file_frame: number | null;
  readonly time_ns: number;
  readonly connection: number;
  readonly from: string;
  readonly to: string;
  readonly requester: string | null;
  readonly responder: string | null;
  readonly rdma_xid: string | null;
  readonly event: string;
  readonly silence_ns: number | null;
  readonly wait_ns: number | null;
  readonly capture_file?: string;
}

export interface Explain {
  readonly type: "explain";
  readonly schema: 1;
  readonly connection: number;
  readonly rdma_xid: string;
  readonly requester: string;
  readonly responder: string;
  readonly try_number: number | null;
  readonly tries?: number;
  readonly try_ended: string | null;
  readonly steps: readonly PacketRunObject[];
  readonly packets_left_out: number;
  readonly stretches: readonly StretchObject[] | null;
  readonly transaction: Transaction;
  readonly messages: readonly Message[];
  readonly findings: readonly Finding[];
  readonly events_after: readonly Event[];
  readonly capture_file?: string;
}

export interface Finding {
  readonly type: "finding";
  readonly schema: 1;
  readonly rule: string;
  readonly severity: string;
  readonly frame: number;
  readonly file: string | null;
  readonly file_frame: number | null;
  readonly time_ns: number;
  readonly connection: number;
  readonly sender: string;
  readonly receiver: string;
  readonly blame: string;
  readonly rdma_xid: string | null;
  readonly offset_octets: number | null;
  readonly section: string;
  readonly message: string;
  readonly deviation_of: string | null;
  readonly in_baseline: boolean;
  readonly capture_file?: string;
}

export interface Message {
  readonly type: "message";
  readonly schema: 1;
  readonly frame: number;
  readonly file: string | null;
  readonly file_frame: number | null;
  readonly time_ns: number;
  readonly connection: number;
  readonly from: string;
  readonly to: string;
  readonly requester: string | null;
  readonly responder: string | null;
  readonly mirror_session: MirrorSessionObject | null;
  readonly retransmitted: number;
  readonly rdma_xid: string | null;
  readonly rdma_vers: number | null;
  readonly rdma_credit: number | null;
  readonly rdma_proc: string | null;
  readonly header_octets: number | null;
  readonly payload_octets: number | null;
  readonly trailing_octets: number | null;
  readonly reads: readonly ReadObject[];
  readonly writes: readonly Plain[];
  readonly reply: Plain | null;
  readonly error: ErrorObject | null;
  readonly invalidates: string | null;
  readonly msgp: MsgpObject | null;
  readonly version_2: VersionTwoObject | null;
  readonly malformed: Malformed | null;
  readonly incomplete: Incomplete | null;
  readonly rpc: RpcObject | null;
  readonly capture_file?: string;
}

export interface Transaction {
  readonly type: "transaction";
  readonly schema: 1;
  readonly connection: number;
  readonly rdma_xid: string;
  readonly requester: string;
  readonly responder: string;
  readonly call_frame: number | null;
  readonly call_file: string | null;
  readonly call_file_frame: number | null;
  readonly reply_frame: number | null;
  readonly reply_file: string | null;
  readonly reply_file_frame: number | null;
  readonly time_ns: number | null;
  readonly latency_ns: number | null;
  readonly latency_at_least_ns: number | null;
  readonly phases: PhasesObject | null;
  readonly kernel: KernelObject | null;
  readonly phases_missing: string | null;
  readonly both_ends: BothEndsObject | null;
  readonly recovery: RecoveryObject | null;
  readonly recovery_missing: string | null;
  readonly credit_wait_ns: number | null;
  readonly credit_wait_missing: string | null;
  readonly slot_wait_ns: number | null;
  readonly slot_wait_missing: string | null;
  readonly reverse: boolean;
  readonly program_guessed: boolean;
  readonly program: number | null;
  readonly version: number | null;
  readonly procedure: number | null;
  readonly name: string | null;
  readonly operation: string;
  readonly operations: readonly CompoundObject[] | null;
  readonly security: string | null;
  readonly user: RpcUser | null;
  readonly file_name: string | null;
  readonly path: string | null;
  readonly offset: number | null;
  readonly count: number | null;
  readonly sequence: SequenceObject | null;
  readonly arguments: readonly ArgumentsObject[] | null;
  readonly call: HalfObject | null;
  readonly reply: HalfObject | null;
  readonly rdma_read_octets: number;
  readonly rdma_write_octets: number;
  readonly status: NumberedObject | null;
  readonly nfs_status: NumberedObject | null;
  readonly tries?: number;
  readonly retry_failure?: string | null;
  readonly each_try?: readonly TryObject[] | null;
  readonly opens: string | null;
  readonly keeps: readonly KeptObject[] | null;
  readonly capture_file?: string;
}

export const RPC_COLUMNS: readonly Heading[] = [
  {"name":"time","title":"time (UTC)","is_number":true,"is_descending":true,"meaning":""},
  {"name":"client","title":"client","is_number":false,"is_descending":false,"meaning":""},
  {"name":"server","title":"server","is_number":false,"is_descending":false,"meaning":""},
  {"name":"operation","title":"operation","is_number":false,"is_descending":false,"meaning":""},
  {"name":"file","title":"file","is_number":false,"is_descending":false,"meaning":""},
  {"name":"read","title":"RDMA Read","is_number":true,"is_descending":true,"meaning":""},
  {"name":"written","title":"RDMA Write","is_number":true,"is_descending":true,"meaning":""},
  {"name":"latency","title":"latency","is_number":true,"is_descending":true,"meaning":"Latency; of a call without a reply, the time that it waited"},
  {"name":"phases","title":"phases","is_number":false,"is_descending":true,"meaning":"The phase that took longest, in the order of the legend; RPCs with the same one by their time in it"},
  {"name":"status","title":"status","is_number":false,"is_descending":false,"meaning":""},
  {"name":"recovery","title":"recovery","is_number":true,"is_descending":true,"meaning":""},
  {"name":"frame","title":"frame","is_number":true,"is_descending":true,"meaning":""},
];

export const GROUP_NAME: Heading = {"name":"name","title":"","is_number":false,"is_descending":false,"meaning":""};

export const GROUP_COLUMNS: readonly Heading[] = [
  {"name":"rpcs","title":"RPCs","is_number":true,"is_descending":true,"meaning":""},
  {"name":"waiting","title":"no reply","is_number":true,"is_descending":true,"meaning":""},
  {"name":"failed","title":"failed","is_number":true,"is_descending":true,"meaning":""},
  {"name":"retransmitted","title":"retransmitted","is_number":true,"is_descending":true,"meaning":""},
  {"name":"read","title":"RDMA Read","is_number":true,"is_descending":true,"meaning":""},
  {"name":"written","title":"RDMA Write","is_number":true,"is_descending":true,"meaning":""},
  {"name":"time","title":"time","is_number":true,"is_descending":true,"meaning":""},
  {"name":"share","title":"share","is_number":true,"is_descending":true,"meaning":""},
  {"name":"median","title":"median","is_number":true,"is_descending":true,"meaning":""},
  {"name":"p99","title":"99 %","is_number":true,"is_descending":true,"meaning":""},
  {"name":"slowest","title":"slowest","is_number":true,"is_descending":true,"meaning":""},
];

export const FINDING_COLUMNS: readonly Heading[] = [
  {"name":"rule","title":"rule","is_number":false,"is_descending":false,"meaning":""},
  {"name":"severity","title":"severity","is_number":false,"is_descending":true,"meaning":"Errors, warnings, hazards"},
  {"name":"sender","title":"sender","is_number":false,"is_descending":false,"meaning":""},
  {"name":"section","title":"section","is_number":false,"is_descending":false,"meaning":""},
  {"name":"message","title":"finding","is_number":false,"is_descending":false,"meaning":""},
  {"name":"rpc","title":"RPC","is_number":false,"is_descending":false,"meaning":""},
  {"name":"frame","title":"frame","is_number":true,"is_descending":true,"meaning":""},
];
