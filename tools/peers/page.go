package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// part is a section on a page, which is measured by itself.
type part struct {
	name    string // by which it is asked for
	title   string // for its section
	minutes int    // about, on two idle processors
	// measure prints the section after its heading. Bars that are missed are no error.
	measure func(ctx context.Context, o options, out io.Writer) error
}

// page is a results file that has a section for each part. Sections that are not measured again
// stay, each with the commit and the date it was measured at.
type page struct {
	title string
	about string // the text above all sections
	parts []part
}

// render in place of part names measures nothing.
const render = "none"

// fill measures parts of a page, and writes the page after each.
func fill(ctx context.Context, args []string, target string, p page) error {
	var o options
	flags := flag.NewFlagSet(target, flag.ContinueOnError)
	o.register(flags)
	file := flags.String("file", "", "the page")
	names := flags.String("parts", "", "names of parts, with commas; all by default, and "+render+" for none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := o.resolve(); err != nil {
		return err
	}
	if *names == render {
		return p.rewrite(*file, target, nil)
	}
	chosen, err := p.choose(strings.FieldsFunc(*names, func(r rune) bool { return r == ',' || r == ' ' }))
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range chosen {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(os.Stderr, "%s: about %d min\n", one.name, one.minutes)
		began := time.Now()
		var text bytes.Buffer
		if err := one.measure(ctx, o, &text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: took %.1f min\n", one.name, time.Since(began).Minutes())
		errs = append(errs, p.rewrite(*file, target, map[string]string{one.title: text.String()}))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// choose returns the parts with these names, in page order: all if there are no names.
func (p page) choose(names []string) ([]part, error) {
	var chosen []part
	for _, one := range p.parts {
		if len(names) == 0 || slices.Contains(names, one.name) {
			chosen = append(chosen, one)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(one part) bool { return one.name == name }) {
			var list strings.Builder
			for _, one := range p.parts {
				fmt.Fprintf(&list, "\n  %-19s about %2d min: %s", one.name, one.minutes, one.title)
			}
			return nil, fmt.Errorf("%q is not one of the parts:%s", name, list.String())
		}
	}
	return chosen, nil
}

const heading = "## "

// sections returns the sections on a page by their titles, each without its heading.
func sections(text string) map[string]string {
	found, title := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if t, ok := strings.CutPrefix(line, heading); ok {
			title = strings.TrimSpace(t)
			found[title] = ""
		} else if title != "" {
			found[title] += line
		}
	}
	maps.DeleteFunc(found, func(_, text string) bool { return strings.HasPrefix(strings.TrimSpace(text), unmeasured) })
	return found
}

// unmeasured begins the section for a part that was never measured.
const unmeasured = "Not measured yet"

// rewrite writes the page, with other texts for some sections by their titles.
func (p page) rewrite(file, target string, measured map[string]string) error {
	if file == "" {
		for title, text := range measured {
			fmt.Printf("%s%s\n\n%s", heading, title, text)
		}
		return nil
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all := sections(string(old))
	maps.Copy(all, measured)
	return os.WriteFile(file, []byte(p.text(target, all)), 0o644)
}

// text returns the page, given its sections by title. Those that belong to no part are left out.
func (p page) text(target string, all map[string]string) string {
	var body strings.Builder
	met, missed := 0, 0
	for _, one := range p.parts {
		text, ok := all[one.title]
		if !ok {
			text = fmt.Sprintf("%s: `make %s PARTS=%s`, about %d min.\n", unmeasured, target, one.name, one.minutes)
		}
		met, missed = met+strings.Count(text, barMet), missed+strings.Count(text, barMissed)
		fmt.Fprintf(&body, "\n%s%s\n\n%s\n", heading, one.title, strings.TrimSpace(text))
	}
	return fmt.Sprintf("# %s\n\n%s\n\nBars in the tables below: %d met, %d missed. A median decides.\n%s", p.title, p.about, met, missed, body.String())
}
