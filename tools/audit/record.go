package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mark qualifies the numbers in a manifest, or is the reason why they are invalid.
type Mark struct {
	Code    string `json:"code"`
	Text    string `json:"text"`
	Invalid bool   `json:"invalid"`
}

// Row is one CSV line, by column.
type Row map[string]string

// Num returns a cell as a number, or NaN.
func (r Row) Num(column string) float64 {
	v, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

func readRecord(folder string) (*Record, error) {
	var manifest struct {
		Databases []struct {
			Tag      string             `json:"tag"`
			Totals   map[string]float64 `json:"totals"`
			Validity []Mark             `json:"validity"`
		} `json:"databases"`
		Validity []Mark `json:"validity"`
	}
	b, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		return nil, err
	}
	if len(manifest.Databases) != 1 {
		return nil, fmt.Errorf("manifest of %s: want 1 database, got %d", folder, len(manifest.Databases))
	}
	d := manifest.Databases[0]
	r := &Record{Folder: filepath.Join(folder, d.Tag), Totals: d.Totals, Marks: slices.Concat(d.Validity, manifest.Validity)}
	r.Intervals, err = r.csv("intervals.csv")
	if err != nil {
		return nil, err
	}
	r.Errors, err = r.csv("errors.csv")
	return r, err
}

// csv reads a file in the database folder. A missing file has no rows.
func (r *Record) csv(name string) ([]Row, error) {
	f, err := os.Open(filepath.Join(r.Folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reader := csv.NewReader(f)
	reader.Comment = '#'
	lines, err := reader.ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var rows []Row
	for _, line := range lines[1:] {
		row := Row{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Sum adds up a column in intervals.csv.
func (r *Record) Sum(column string) float64 {
	sum := 0.0
	for _, row := range r.Intervals {
		sum += row.Num(column)
	}
	return sum
}

// Class counts the requests that ended with errors in a class.
func (r *Record) Class(class string) float64 {
	n := 0.0
	for _, row := range r.Errors {
		if row["class"] == class {
			n += row.Num("count")
		}
	}
	return n
}

// Marked finds a mark whose code or text contains one of the words, in lower case.
func (r *Record) Marked(words ...string) (Mark, bool) {
	for _, m := range r.Marks {
		for _, w := range words {
			if strings.Contains(strings.ToLower(m.Code+": "+m.Text), w) {
				return m, true
			}
		}
	}
	return Mark{}, false
}

// Codes returns all mark codes.
func (r *Record) Codes() string {
	var codes []string
	for _, m := range r.Marks {
		code := m.Code
		if m.Invalid {
			code += " (INVALID)"
		}
		codes = append(codes, code)
	}
	return strings.Join(codes, ", ")
}

// Cell is one number in the table. Value is nil if it was not measured.
type Cell struct {
	Text  string   `json:"text"`
	Value *float64 `json:"value"`
	N     int64    `json:"n"`
}

func readReport(dir string) (*Report, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("report %s: want one JSON file, got %d: %w", dir, len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	r := &Report{}
	return r, json.Unmarshal(b, r)
}

// Cell returns the first cell in the row with this exact name.
func (r *Report) Cell(name string) (Cell, bool) {
	for _, row := range r.Table.Rows {
		if row.Name == name && len(row.Cells) > 0 {
			return row.Cells[0], true
		}
	}
	return Cell{}, false
}

// Value returns the number in a row; NaN if the row or the number is missing.
func (r *Report) Value(name string) float64 {
	c, _ := r.Cell(name)
	if c.Value == nil {
		return math.NaN()
	}
	return *c.Value
}

// Text returns the text in a row, or "no such row".
func (r *Report) Text(name string) string {
	c, ok := r.Cell(name)
	if !ok {
		return "no such row"
	}
	return c.Text
}

// Named finds the rows whose names contain all the words.
func (r *Report) Named(words ...string) (names []string) {
	for _, row := range r.Table.Rows {
		all := true
		for _, w := range words {
			all = all && strings.Contains(strings.ToUpper(row.Name), strings.ToUpper(w))
		}
		if all {
			names = append(names, row.Name)
		}
	}
	return names
}

// Record holds the files in a run folder. It knows only names: files, columns and keys.
type Record struct {
	Folder    string // of the database
	Totals    map[string]float64
	Marks     []Mark
	Intervals []Row
	Errors    []Row
}

// Report has the fields of report.json that cases compare.
type Report struct {
	Valid bool `json:"valid"`
	Table struct {
		Rows []struct {
			Name  string `json:"name"`
			Cells []Cell `json:"cells"`
		} `json:"rows"`
		Notes []string `json:"notes"`
	} `json:"table"`
}
