package remote

import (
	"strconv"
	"strings"
)

// unreached returns why there is no connection to an agent, if the message from gRPC has the
// reason, without additions from the layers in between.
func unreached(text string) (string, bool) {
	quoted, ok := strings.CutPrefix(text, "connection error: desc = ")
	if !ok {
		return "", false
	}
	reason, err := strconv.Unquote(quoted)
	if err != nil { // something follows the quoted text
		reason = strings.Trim(quoted, `"`)
	}
	for _, layer := range []string{"transport: Error while dialing: ", "transport: authentication handshake failed: "} {
		reason = strings.TrimPrefix(reason, layer)
	}
	// An agent that refuses the certificate does so after the client has finished the handshake.
	if why, ok := strings.CutPrefix(reason, "error reading server preface: "); ok && why != "EOF" {
		reason = why
	}
	return reason, true
}
