package analyze

// Table is the table of a report: one column per database and run.
type Table struct {
	Columns []Header `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Notes stand below the table, one line each; footnote marks first.
	Notes []string `json:"notes,omitempty"`
}

// Header names a column.
type Header struct {
	Tag string `json:"tag"`
	// Text is Tag, or "TAG (ran X)" when the members reported another version than
	// the label says.
	Text string `json:"text"`
}

// Row is one number of every column.
type Row struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	// Raw rows repeat another one in full digits; the text table leaves them out.
	Raw   bool   `json:"raw,omitempty"`
	Cells []Cell `json:"cells"`
}

// Cell is one number as it is printed and as it is.
type Cell struct {
	Text string `json:"text"`
	// Value is nil when the cell holds no number or was not measured.
	Value *float64 `json:"value"`
	// N is the number of requests, samples or members behind the value; 0 if that
	// means nothing.
	N int64 `json:"n,omitempty"`
	// Marks are footnotes on this cell.
	Marks []string `json:"marks,omitempty"`
	// Missing says why there is no value.
	Missing string `json:"missing,omitempty"`
}
