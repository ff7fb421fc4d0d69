package usertoken

import "encoding/hex"

// Forms returns the texts in which a token must not appear.
func (t Token) Forms() []string {
	return []string{string(t.secret[:]), hex.EncodeToString(t.secret[:])}
}
