/* Each recorded Send, judged as received by either role, and as the Reply to the one before it. */
#include <rpcrdma.h>

#include "digest.h"
#include "program.h"

enum { FINDINGS = 64 };

static uint64_t digest = DIGEST_START;
static uint32_t judged, found;
static rpcrdma_finding findings[FINDINGS];

/* Adds the findings to the digest, as far as there was room for them; their number shows whether there was. */
static void add_findings(size_t count)
{
    for (size_t i = 0; i < count && i < FINDINGS; i++) {
        add_octets(&digest, findings[i].slug.characters, findings[i].slug.length);
        add_word(&digest, (uint32_t)findings[i].offset);
        add_word(&digest, findings[i].severity);
        add_word(&digest, findings[i].reaction);
        add_word(&digest, findings[i].answer);
    }
    add_word(&digest, (uint32_t)count);
    judged++;
    found += (uint32_t)count;
}

static void judge_send(const recorded *send, uint32_t receiver)
{
    size_t count = 0;

    if (send->family == 0)
        rpcrdma_judge(send->octets, send->length, receiver, findings, FINDINGS, &count);
    else
        rpcrdma_judge_v2(send->family, send->octets, send->length, receiver, findings, FINDINGS, &count);
    add_findings(count);
}

static void judge_reply(const recorded *call, const recorded *reply)
{
    size_t count = 0;
    rpcrdma_status status;

    if (call->family != reply->family)
        return;
    if (call->family == 0)
        status = rpcrdma_judge_reply(call->octets, call->length, reply->octets, reply->length, findings, FINDINGS, &count);
    else
        status = rpcrdma_judge_reply_v2(call->family, call->octets, call->length, reply->octets, reply->length, findings,
                                        FINDINGS, &count);
    if (status != RPCRDMA_NOT_DECODED)
        add_findings(count);
}

void judge(void)
{
    recorded send, before = {0, NULL, 0};

    for (size_t at = 0; next_recorded(&at, &send);) {
        judge_send(&send, RPCRDMA_REQUESTER);
        judge_send(&send, RPCRDMA_RESPONDER);
        if (before.octets)
            judge_reply(&before, &send);
        before = send;
    }
    print("rules: ");
    print_number(judged, " times judged, ");
    print_number(found, " findings, ");
    print_digest(digest);
}
