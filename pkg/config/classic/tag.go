package classic

import (
	"regexp"
	"strings"
)

// Tag returns the tag that the classic tool made from a description: in lower case,
// "go 1.9" and "java 8" joined, without parentheses, spaces as hyphens.
func Tag(description string) string {
	return strings.NewReplacer("go ", "go", "java ", "java", "(", "", ")", "", " ", "-").
		Replace(strings.ToLower(strings.TrimSpace(description)))
}

var (
	versionWord  = regexp.MustCompile(`^[vr]?[0-9]+(\.[0-9]+)+[0-9A-Za-z.+-]*$`)
	versionLabel = regexp.MustCompile(`^[vr][0-9]+(_[0-9A-Za-z]+)*$`)
)

// version returns the release that a database asks for: the version in its
// description, else the one in its label (v3_3 is v3.3, r3_5_3_beta is
// r3.5.3-beta), else "".
func version(description, label string) string {
	for _, word := range strings.Fields(description) {
		if strings.HasPrefix(word, "(") {
			break // the compiler
		}
		if versionWord.MatchString(word) {
			return word
		}
	}
	if !versionLabel.MatchString(label) {
		return ""
	}
	parts := strings.Split(label, "_")
	release := parts[0]
	for _, part := range parts[1:] {
		if strings.Trim(part, "0123456789") == "" {
			release += "." + part
		} else {
			release += "-" + part
		}
	}
	return release
}
