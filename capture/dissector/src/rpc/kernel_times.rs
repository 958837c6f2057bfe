//! Times of an RPC inside an end, from a trace of the kernel there.

/// Times of an RPC from kernel traces, in nanoseconds; `None` without the events in a trace. A trace of the client has no
/// times of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelTimes {
    /// `true` if the capture holds no packets of the RPC, and all that is known comes from traces.
    pub is_without_packets: bool,
    /// `true` if a trace of the client shows the RPC.
    pub is_at_client: bool,
    /// `true` if a trace of the server shows the RPC.
    pub is_at_server: bool,
    /// At the client: from the start of the task to the transmission of the call, including `registration`.
    pub queue: Option<u64>,
    /// At the client: registration of memory for the call, from the mapping of the first region to the last work request.
    pub registration: Option<u64>,
    /// At the client: from the transmission of the call to the reply, measured by the kernel.
    pub round_trip: Option<u64>,
    /// At the server: from the arrival of the call until a thread takes the call.
    pub server_queue: Option<u64>,
    /// At the server: RDMA Reads of the call's data, from the first request to the last completion.
    pub rdma_read: Option<u64>,
    /// At the server: from the arrival of the call to the post of the reply.
    pub served: Option<u64>,
    /// At the server: execution of the procedure, measured by the kernel, including `file_system`.
    pub execution: Option<u64>,
    /// At the server: reading, writing and committing in the file system.
    pub file_system: Option<u64>,
    /// Transmissions of the call by the client.
    pub transmissions: u32,
}

impl KernelTimes {
    /// Adds the times that another trace shows.
    pub(crate) fn add(&mut self, other: Option<&Self>) {
        let Some(other) = other else { return };
        let Self { queue, registration, round_trip, server_queue, rdma_read, served, execution, file_system, .. } =
            self;
        for (time, more) in [
            (queue, other.queue),
            (registration, other.registration),
            (round_trip, other.round_trip),
            (server_queue, other.server_queue),
            (rdma_read, other.rdma_read),
            (served, other.served),
            (execution, other.execution),
            (file_system, other.file_system),
        ] {
            *time = time.or(more);
        }
        self.is_at_client |= other.is_at_client;
        self.is_at_server |= other.is_at_server;
        self.transmissions = self.transmissions.max(other.transmissions);
    }
}
