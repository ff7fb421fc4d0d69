package remote

import (
	"strconv"
	"strings"
)

// unreached returns why there is no connection to an agent, if gRPC's message has the reason,
// without what the layers in between add.
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
	// An agent that refuses control's certificate does so after control's handshake.
	if why, ok := strings.CutPrefix(reason, "error reading server preface: "); ok && why != "EOF" {
		reason = why
	}
	return reason, true
}
