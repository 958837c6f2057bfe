/* RPC calls of NFSv4 under RPCSEC_GSS with integrity (RFC 2203), as hexadecimal digits for scripts of raw-requester.
 *
 *   gss-words init SERVICE FILE XID            the call that makes a context; leaves the context in the file
 *   gss-words call FILE HANDLE XID ARGUMENTS   a COMPOUND under it; the XID is the sequence number, too
 *
 * XID, HANDLE, which is what the server calls the context, and ARGUMENTS are hexadecimal digits. */
#include <err.h>
#include <gssapi/gssapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, RPCSEC_GSS = 6, DATA = 0, INIT = 1, NONE = 1, INTEGRITY = 2 };

struct octets {
    unsigned char at[MOST];
    size_t length;
};

static void put(struct octets *to, const void *from, size_t length) {
    if (length > MOST - to->length) errx(1, "more than %d octets", MOST);
    memcpy(to->at + to->length, from, length);
    to->length += length;
}

static void put_word(struct octets *to, uint32_t word) {
    put(to, (unsigned char[]){word >> 24, word >> 16, word >> 8, word}, 4);
}

static void put_opaque(struct octets *to, const void *from, size_t length) {
    put_word(to, length);
    put(to, from, length);
    put(to, "\0\0", -length & 3);
}

static struct octets digits(const char *text) {
    struct octets octets = {.length = 0};
    int taken = 0;
    for (unsigned octet; sscanf(text, "%2x%n", &octet, &taken) == 1; text += taken) put(&octets, &(unsigned char){octet}, 1);
    return octets;
}

static OM_uint32 minor;

static void must(OM_uint32 major, const char *what) {
    if (GSS_ERROR(major)) errx(1, "%s: major %#x, minor %#x", what, major, minor);
}

static void put_mic(struct octets *to, gss_ctx_id_t context, const struct octets *of) {
    gss_buffer_desc mic, message = {of->length, (void *)of->at};
    must(gss_get_mic(&minor, context, GSS_C_QOP_DEFAULT, &message, &mic), "gss_get_mic");
    put_opaque(to, mic.value, mic.length);
}

/* RPC header and credential. */
static struct octets begun(uint32_t xid, uint32_t procedure, uint32_t gss_procedure, uint32_t service, struct octets handle) {
    struct octets call = {.length = 0}, credential = {.length = 0};
    uint32_t header[] = {xid, 0, 2, 100003, 4, procedure, RPCSEC_GSS};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) put_word(&call, header[i]);
    uint32_t of_credential[] = {1, gss_procedure, gss_procedure == INIT ? 0 : xid, service};
    for (size_t i = 0; i < 4; i++) put_word(&credential, of_credential[i]);
    put_opaque(&credential, handle.at, handle.length);
    put_opaque(&call, credential.at, credential.length);
    return call;
}

static struct octets init(const char *service, const char *file, uint32_t xid) {
    gss_name_t name;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc token, text = {strlen(service), (void *)service};
    must(gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &name), service);
    must(gss_init_sec_context(&minor, GSS_C_NO_CREDENTIAL, &context, name, GSS_C_NO_OID, GSS_C_INTEG_FLAG, 0, NULL, NULL,
        NULL, &token, NULL, NULL), "gss_init_sec_context");
    struct octets call = begun(xid, 0, INIT, NONE, (struct octets){.length = 0});
    put_word(&call, 0); /* AUTH_NONE */
    put_word(&call, 0);
    put_opaque(&call, token.value, token.length);
    must(gss_export_sec_context(&minor, &context, &token), "gss_export_sec_context");
    FILE *to = fopen(file, "w");
    if (!to || fwrite(token.value, 1, token.length, to) != token.length || fclose(to)) err(1, "%s", file);
    return call;
}

static struct octets call(const char *file, struct octets handle, uint32_t xid, struct octets arguments) {
    gss_ctx_id_t context;
    char octets[MOST];
    FILE *from = fopen(file, "r");
    if (!from) err(1, "%s", file);
    gss_buffer_desc token = {fread(octets, 1, sizeof octets, from), octets};
    must(gss_import_sec_context(&minor, &token, &context), "gss_import_sec_context");
    struct octets call = begun(xid, 1, DATA, INTEGRITY, handle), body = {.length = 0};
    struct octets header = call;
    put_word(&call, RPCSEC_GSS);
    put_mic(&call, context, &header);
    put_word(&body, xid);
    put(&body, arguments.at, arguments.length);
    put_opaque(&call, body.at, body.length);
    put_mic(&call, context, &body);
    return call;
}

int main(int count, char **words) {
    struct octets made;
    if (count == 5 && !strcmp(words[1], "init"))
        made = init(words[2], words[3], strtoul(words[4], NULL, 16));
    else if (count == 6 && !strcmp(words[1], "call"))
        made = call(words[2], digits(words[3]), strtoul(words[4], NULL, 16), digits(words[5]));
    else
        errx(2, "init SERVICE FILE XID, or call FILE HANDLE XID ARGUMENTS");
    for (size_t i = 0; i < made.length; i++) printf("%02x", made.at[i]);
    puts("");
}
