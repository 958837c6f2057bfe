#include "receives.h"

#include "stream.h"

void post_all(receives *receives)
{
    for (uint32_t i = 0; i < RECEIVES; i++)
        receives->all[i].is_posted = 1;
    receives->count = 0;
}

uint32_t posted(const receives *receives)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < RECEIVES; i++)
        count += (uint32_t)receives->all[i].is_posted;
    return count;
}

int arrive(receives *receives, const uint8_t *send, size_t length, const uint32_t *invalidated)
{
    for (uint32_t i = 0; i < RECEIVES; i++) {
        receive *each = &receives->all[i];

        if (!each->is_posted)
            continue;
        copy(each->octets, send, length);
        each->length = length;
        each->is_posted = 0;
        each->is_invalidating = invalidated != NULL;
        each->invalidated = invalidated ? *invalidated : 0;
        receives->arrived[receives->count++] = i;
        return 1;
    }
    return 0;
}

int next_arrived(receives *receives, uint32_t *name)
{
    if (receives->count == 0)
        return 0;
    *name = receives->arrived[0];
    receives->count--;
    for (uint32_t i = 0; i < receives->count; i++)
        receives->arrived[i] = receives->arrived[i + 1];
    return 1;
}
