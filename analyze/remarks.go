package analyze

import "strings"

// remarks are texts about columns; what is true of several is said once.
type remarks struct {
	texts []string
	tags  map[string][]string
}

// add notes a text of a column, or of all when tag is "".
func (r *remarks) add(tag, text string) {
	if r.tags == nil {
		r.tags = map[string][]string{}
	}
	if r.tags[text] == nil {
		r.texts = append(r.texts, text)
	}
	r.tags[text] = append(r.tags[text], tag)
}

// lines are the texts in their order, each after its columns.
func (r *remarks) lines() (lines []string) {
	for _, text := range r.texts {
		if tags := strings.Join(distinct(r.tags[text]), ", "); tags != "" {
			text = tags + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
}
