#include "channel.h"

#include "receives.h"

static rpcrdma_channel_memory client_memory, server_memory;

int start_channel(rpcrdma_channel **channel, uint32_t side, uint32_t version)
{
    rpcrdma_properties properties;

    *channel = NULL;
    if (version == RPCRDMA_VERSION_1)
        return 1;
    *channel = (rpcrdma_channel *)(side == RPCRDMA_CLIENT ? &client_memory : &server_memory);
    rpcrdma_default_properties(&properties);
    properties.send_size = RECEIVE;
    properties.receive_size = RECEIVE;
    return rpcrdma_channel_init(*channel, sizeof client_memory, side, version, &properties, RPCRDMA_BUILD) == RPCRDMA_OK;
}

int is_agreed(rpcrdma_channel *channel, uint32_t version)
{
    rpcrdma_state state;

    return !channel || (rpcrdma_channel_state(channel, &state) == RPCRDMA_OK && state.negotiation == RPCRDMA_AGREED &&
                        state.version == version);
}

int poll_channel(rpcrdma_channel *channel, uint32_t room, uint8_t *buffer, size_t capacity, size_t *length)
{
    return channel && rpcrdma_channel_poll(channel, room, buffer, capacity, length) == RPCRDMA_OK;
}

uint32_t available(rpcrdma_channel *channel, uint32_t room)
{
    rpcrdma_available available;

    return rpcrdma_channel_available(channel, room, 0, 0, &available) == RPCRDMA_OK ? available.messages : 0;
}
