package config

import (
	"regexp"
	"strings"
)

// tagPattern is what may name a folder below a result folder and a column.
var tagPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+,=@-]*$`)

// validTag reports why a tag cannot name a folder; "" if it can.
func validTag(tag string) string {
	switch {
	case !tagPattern.MatchString(tag):
		return "a tag is made of a-z A-Z 0-9 _ . + , = @ - and starts with a letter, digit or _"
	case len(tag) > 128:
		return "a tag has at most 128 characters"
	case tag == "report":
		return "the report has that name"
	}
	return ""
}

// makeTag is the tag of a compact file's database: NAME-VERSION, NAME-LABEL or
// NAME.
func makeTag(name, label, version string) string {
	switch {
	case version != "":
		return name + "-" + strings.Map(func(c rune) rune {
			if strings.ContainsRune(labelChars, c) {
				return c
			}
			return '-'
		}, version)
	case label != "":
		return name + "-" + label
	}
	return name
}

// classicTag is the classic rule for a database's tag: its description in lower
// case, "go 1.9" and "java 8" joined, parentheses dropped, spaces as hyphens.
func classicTag(description string) string {
	return strings.NewReplacer("go ", "go", "java ", "java", "(", "", ")", "", " ", "-").
		Replace(strings.ToLower(strings.TrimSpace(description)))
}

var (
	versionWord  = regexp.MustCompile(`^[vr]?[0-9]+(\.[0-9]+)+[0-9A-Za-z.+-]*$`)
	versionLabel = regexp.MustCompile(`^[vr][0-9]+(_[0-9A-Za-z]+)*$`)
)

// classicVersion is the release that a classic database asks for: the version in
// its description, else the one its label spells (v3_3 is v3.3, r3_5_3_beta is
// r3.5.3-beta), else "".
func classicVersion(description, label string) string {
	for _, word := range strings.Fields(description) {
		if strings.HasPrefix(word, "(") {
			break // what it was built with
		}
		if versionWord.MatchString(word) {
			return word
		}
	}
	if !versionLabel.MatchString(label) {
		return ""
	}
	parts := strings.Split(label, "_")
	version := parts[0]
	for _, part := range parts[1:] {
		if strings.Trim(part, "0123456789") == "" {
			version += "." + part
		} else {
			version += "-" + part
		}
	}
	return version
}
