package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/coreos/dbtester/analyze/headline"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// json is the report for programs: values, units, numbers of samples, definitions and
// marks.
func (r *Report) json() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Title       string             `json:"title"`
		Description string             `json:"description,omitempty"`
		Valid       bool               `json:"valid"`
		Marks       []run.Mark         `json:"marks"`
		Errors      []columnErrors     `json:"errors"`
		Headline    *headline.Headline `json:"headline"`
		Table       *table.Table       `json:"table"`
	}{r.Title, r.Description, r.Valid(), nonNil(r.Marks), nonNil(r.errors), r.Headline, r.Table})
	if err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	return b.Bytes(), nil
}

// nonNil makes an empty list encode as [].
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
