package submission

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// owner matches the owner of a session in an agent log.
var owner = pattern.New(`owner="?([\w.-]+)@([\w.-]+)`)

// account lists the scrubbed and the omitted records. It contains no private name.
func (p *packer) account() string {
	var b strings.Builder // the lines after the pseudonym list
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	gone := []string{"the arguments of the members' commands; the names of programs stay", "the resolved experiment; the name of its file and a hash stay"}
	if n := len(p.names.secrets); n > 0 {
		gone = append(gone, fmt.Sprintf("%d x value that looks like a credential or a drawn id: %s", n, removed))
	}
	if n := len(p.unknown); n > 0 {
		gone = append(gone, fmt.Sprintf("%d x field that this version does not know", n))
	}
	list("Removed:", gone)
	reduced := p.reduced
	if n := len(p.lostLines); n > 0 {
		reduced = append(slices.Clip(reduced), fmt.Sprintf("%d x line that would not match any more: removed", n))
	}
	list("Logs of servers, reduced to what the driver's rules match in a line:", reduced)
	var out []string
	for _, file := range slices.Sorted(maps.Keys(p.leftOut)) {
		out = append(out, file+": "+p.leftOut[file])
	}
	if n := len(p.strays); n > 0 {
		out = append(out, fmt.Sprintf("%d x file or folder that analyze does not read", n))
	}
	list("Left out:", out)
	texts := func(lines []string) (clean []string) {
		for _, line := range lines {
			clean = append(clean, p.names.text(line))
		}
		return clean
	}
	list("Records that the run lacks:", texts(p.gaps))
	list("Marks of the run:", texts(p.marks))
	if len(p.invalid) > 0 {
		b.WriteString("\nThis run is NOT VALID: its numbers must not be used; the marks that say INVALID are why.\n")
	}
	rest := b.String()
	b.Reset()
	b.WriteString("The record of one run of dbtester, scrubbed by dbtester submit. Every number is that of the run.\n")
	p.names.wrote(rest)
	list("Replaced, equal ones everywhere by the same word (loopback addresses stay):", p.replaced())
	return b.String() + rest
}

// replaced lists the pseudonyms in the archive by kind.
func (p *packer) replaced() (lines []string) {
	written := p.names.pseudonyms()
	for _, k := range kinds() {
		var spans []string
		n, first, last := 0, 0, 0
		end := func() {
			switch {
			case last == 0:
			case first == last:
				spans = append(spans, fmt.Sprintf("%s-%d", k.kind, first))
			default:
				spans = append(spans, fmt.Sprintf("%s-%d to %s-%d", k.kind, first, k.kind, last))
			}
		}
		for _, one := range written {
			number, err := strconv.Atoi(strings.TrimPrefix(one.Alias, string(k.kind)+"-"))
			if err != nil {
				continue // belongs to another kind
			}
			if n++; number != last+1 || last == 0 {
				end()
				first = number
			}
			last = number
		}
		if end(); n > 0 {
			lines = append(lines, fmt.Sprintf("%d x %s: %s", n, k.noun, strings.Join(spans, ", ")))
		}
	}
	return lines
}
