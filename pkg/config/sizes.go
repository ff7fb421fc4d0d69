package config

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// sizeLawSection declares the keys for a value size law.
func sizeLawSection() section[sizeLawSpec] {
	lognormal := func(s *sizeLawSpec) bool { return s.Law == workload.SizesLognormal }
	size := func(name, preset, usually, meaning string, at func(*sizeLawSpec) *int) field[sizeLawSpec] {
		return sizeLawKey[int]{
			Row: row{Name: name, Preset: preset, Usually: usually, Meaning: meaning}, Kind: yamlfile.SizeKind(), At: at, Shown: lognormal,
		}.Field()
	}
	return section[sizeLawSpec]{Fields: []field[sizeLawSpec]{
		sizeLawKey[workload.SizeLaw]{
			Row:  row{Name: "law", Usually: "required", Meaning: "`lognormal` or `histogram`"},
			Kind: yamlfile.WordKind(workload.SizeLaws()...), At: func(s *sizeLawSpec) *workload.SizeLaw { return &s.Law },
		}.Field(),
		size("p50", "", "required", "of `lognormal`: half of the values are smaller", func(s *sizeLawSpec) *int { return &s.P50 }),
		size("p99", "", "required", "of `lognormal`: one value in a hundred is larger", func(s *sizeLawSpec) *int { return &s.P99 }),
		size("min", "16", "", "of `lognormal`: the smallest size, 16 bytes or more", func(s *sizeLawSpec) *int { return &s.min }),
		size("max", "", "ten times `p99`", "of `lognormal`: the largest size", func(s *sizeLawSpec) *int { return &s.max }),
		sizeLawKey[string]{
			Row:  row{Name: "file", Usually: "required", Meaning: "of `histogram`: a CSV file of sizes in bytes, 16 or more, and their counts"},
			Kind: yamlfile.FilledKind(), At: func(s *sizeLawSpec) *string { return &s.File },
			Shown: func(s *sizeLawSpec) bool { return s.Law == workload.SizesHistogram },
		}.Field(),
	}}
}

// sizesField declares the law for value sizes.
func sizesField() field[loadSpec] {
	f := part[loadSpec, sizeLawSpec]{
		Row: row{Name: "value_sizes",
			Meaning: "a [law](#keys-of-value_sizes) for the lengths of values; excludes `value_size`"},
		Section: sizeLawSection(), At: func(l *loadSpec) *written[sizeLawSpec] { return &l.sizeLaw },
		Node: func(l *loadSpec) *yamlfile.Node {
			if l.Sizes.Law == "" {
				return nil
			}
			return sizeLawSection().Show(&sizeLawSpec{l.Sizes, l.ValueSize, l.ValueSizeMax}).Flow()
		},
	}.Field()
	f.Drops = func(loadSpec) []string { return []string{"value_size", "value_size_max"} }
	return f
}

// sizeLaw resolves the law for value sizes, and the smallest and largest size.
func (r *loadResolver) sizeLaw(l *workload.Load) {
	w := r.spec.Is.sizeLaw
	if !r.spec.Has("value_sizes") {
		return
	}
	if p := r.spec.Place("value_size"); p.Set() {
		r.Errorf(p.At, "%s: value_sizes (line %d) is a law for the sizes; give one of the two", p.Key, r.spec.NodeOf("value_sizes").Line)
		return
	}
	spec := sizeLawSection().Filled(w)
	at := func(key string) *yamlfile.Node { return cmp.Or(w.NodeOf(key), r.spec.NodeOf("value_sizes")) }
	before := r.Errors()
	switch spec.Law {
	case workload.SizesLognormal:
		if !w.Has("max") {
			spec.max = 10 * spec.P99
		}
		switch {
		case spec.P50 < 1:
			r.Errorf(at("p50"), "value_sizes: p50 must be positive, got %d", spec.P50)
		case spec.P99 <= spec.P50:
			r.Errorf(at("p99"), "value_sizes: p99 must be more than p50 (%d), got %d", spec.P50, spec.P99)
		case spec.min < minRange:
			r.Errorf(at("min"), "value_sizes: min must be at least %d, got %d", minRange, spec.min)
		case spec.max <= spec.min:
			r.Errorf(at("max"), "value_sizes: max must be more than min (%d), got %d", spec.min, spec.max)
		case spec.P50 < spec.min || spec.P50 > spec.max:
			r.Errorf(at("p50"), "value_sizes: p50 must be from min (%d) to max (%d), got %d", spec.min, spec.max, spec.P50)
		}
		spec.Sizes = workload.Sizes{Law: spec.Law, P50: spec.P50, P99: spec.P99}
	case workload.SizesHistogram:
		spec.Sizes = workload.Sizes{Law: spec.Law, File: spec.File}
		if err := spec.readFile(); err != nil {
			r.Errorf(at("file"), "value_sizes: %v", err)
		}
	default:
		if !yamlfile.HasKey(w.Node, "law") {
			r.Errorf(at("law"), "value_sizes: law is missing")
		}
	}
	if r.Errors() > before || spec.Law == "" {
		return
	}
	l.Sizes, l.ValueSize, l.ValueSizeMax = spec.Sizes, spec.min, spec.max
}

// readFile reads a histogram of sizes.
func (spec *sizeLawSpec) readFile() error {
	if spec.File == "" {
		return errors.New("file is missing")
	}
	const limit = 1 << 20
	text, err := regularfile.Read(spec.File, limit)
	if err == nil {
		spec.Bins, err = workload.ParseSizeBins(string(text))
	}
	if err != nil {
		return fmt.Errorf("file %q: %w", spec.File, err)
	}
	spec.min, spec.max = spec.Bins[0].Bytes, spec.Bins[len(spec.Bins)-1].Bytes
	if spec.min < minRange {
		return fmt.Errorf("file %q: sizes must be at least %d bytes, got %d", spec.File, minRange, spec.min)
	}
	return nil
}
