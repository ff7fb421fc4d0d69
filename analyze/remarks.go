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

// joined are the lines with the texts of the same columns in one, as short texts
// allow.
func (r *remarks) joined() []string {
	var order []string
	of := map[string][]string{}
	for _, text := range r.texts {
		tags := strings.Join(distinct(r.tags[text]), ", ")
		of[tags] = append(of[tags], text)
		order = append(order, tags)
	}
	var lines []string
	for _, tags := range distinct(order) {
		text := strings.Join(of[tags], ", ")
		if tags != "" {
			text = tags + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
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
