package zookeeper

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// escape writes a value for a Java properties file such as zoo.cfg. Any text reads back
// unchanged. The file is read as ISO 8859-1, so every character beyond ASCII is escaped.
func escape(value string) string {
	var b strings.Builder
	for i, r := range value {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == ' ' && i == 0:
			b.WriteString(`\ `)
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
