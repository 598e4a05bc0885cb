/* Transfers over QUIC with picoquic: a server, and a client that downloads, uploads or makes requests, and reports as
 * JSON.
 *
 *     quic_picoquic server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS
 *     quic_picoquic download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...
 *     quic_picoquic requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...
 *
 * The client connects to the first address, and opens a path to each of the others. A transfer has one stream, a
 * request a stream of its own. A stream begins with a letter and a number: `d` asks for so many bytes, `u` announces
 * some, `r` asks for the server's report. SIGTERM ends a transfer early; `bytes` are then those of the stream that were
 * sent or have come so far, and there is no report of the server.
 */

#include <stdio.h>
#include <string.h>

#include "program.h"

static const char USAGE[] = "quic_picoquic server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS\n"
                            "quic_picoquic download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...\n"
                            "quic_picoquic requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...\n";

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    if (strcmp(word, "server") == 0 && count == 7)
        serve(words + 2);
    const int is_requests = strcmp(word, "requests") == 0;
    const int numbers = is_requests ? 3 : 1;
    const int paths = count - 4 - numbers;
    if ((is_requests || strcmp(word, "download") == 0 || strcmp(word, "upload") == 0) && paths >= 1 &&
        paths <= MOST_PATHS)
        return transfer(word, numbers, words + 2, paths);
    fputs(USAGE, stderr);
    return 2;
}
