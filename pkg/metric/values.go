package metric

import (
	"fmt"
	"slices"
	"strings"
)

// Values holds one value per metric in a list. The zero Values has no list, and all its values are
// [Unknown].
//
// A copy of Values shares its content with the original. To change a copy, use [Values.Clone].
type Values struct {
	list   *List
	values []float64
}

// Values returns all-unknown values.
func (l *List) Values() Values {
	return Values{l, slices.Repeat([]float64{Unknown}, l.Len())}
}

// Table returns values for n rows in one allocation, all 0. The rows do not overlap.
func (l *List) Table(n int) []Values {
	rows, width := make([]Values, n), l.Len()
	all := make([]float64, n*width)
	for i := range rows {
		rows[i] = Values{l, all[i*width : (i+1)*width : (i+1)*width]}
	}
	return rows
}

// Forget makes all values unknown, in place.
func (v Values) Forget() {
	for i := range v.values {
		v.values[i] = Unknown
	}
}

// SystemValues returns values for [System]. Metrics that are not in known are unknown.
func SystemValues(known map[Name]float64) Values {
	v := System().Values()
	for n, x := range known {
		v.Set(n, x)
	}
	return v
}

// Get returns a value, or [Unknown].
func (v Values) Get(n Name) float64 {
	if v.list == nil {
		return Unknown
	}
	if i, ok := v.list.Index(n); ok {
		return v.values[i]
	}
	return Unknown
}

// At returns the value of the metric at an index in the list, or [Unknown].
func (v Values) At(i int) float64 {
	if v.list == nil {
		return Unknown
	}
	return v.values[i]
}

// Set changes a value in place. The name must be in the list.
func (v Values) Set(n Name, x float64) { v.values[v.list.must(n)] = x }

// SetAt changes the value of the metric at an index in the list, in place.
func (v Values) SetAt(i int, x float64) { v.values[i] = x }

// List returns the list the values belong to; [System] for the zero Values.
func (v Values) List() *List {
	if v.list == nil {
		return System()
	}
	return v.list
}

// Clone returns an independent copy.
func (v Values) Clone() Values {
	if v.list == nil {
		return System().Values()
	}
	return Values{v.list, slices.Clone(v.values)}
}

// Equal reports whether both have the same list and values.
func (v Values) Equal(w Values) bool {
	if v.List() != w.List() {
		return false
	}
	for i := range v.List().Len() {
		if v.At(i) != w.At(i) {
			return false
		}
	}
	return true
}

// String names each known value.
func (v Values) String() string {
	var known []string
	for i := range v.values {
		if v.values[i] >= 0 {
			known = append(known, fmt.Sprintf("%s=%v", v.list.At(i).Name, v.values[i]))
		}
	}
	return "{" + strings.Join(known, " ") + "}"
}
