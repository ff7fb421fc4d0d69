package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	humanize "github.com/dustin/go-humanize"
)

// ClientsText formats a client count: "3 clients".
func ClientsText(n int) string { return fmt.Sprintf("%d client%s", n, Plural(n)) }

// Plural returns the plural ending, "s" or "", for n things.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// RateText formats a rate of due requests, which changes linearly to end unless end is 0.
func RateText(rate, end float64) string {
	if rate == 0 {
		return "closed loop"
	}
	text := RateNumber(rate)
	if end > 0 {
		text += ".." + RateNumber(end)
	}
	return text + "/s due"
}

// RateNumber formats a number of requests per second. Rates below 100 keep two decimals.
func RateNumber(rate float64) string {
	if rate < 100 && rate != math.Trunc(rate) {
		return fmt.Sprintf("%.2f", rate)
	}
	return humanize.Comma(int64(math.Round(rate)))
}

// HumanSize formats bytes in decimal units, as the classic tables do.
func HumanSize(v float64) string {
	if v < 0 || math.IsNaN(v) {
		return ""
	}
	return humanize.Bytes(uint64(math.Round(v)))
}

// RangeText returns the least and the most of some values, at least one, as text such as "2 to 5",
// or one text if they are the same.
func RangeText[T cmp.Ordered](values []T, text func(T) string) string {
	least, most := text(slices.Min(values)), text(slices.Max(values))
	if least == most {
		return least
	}
	return least + " to " + most
}

// FileTag makes a tag safe for use in a file name. Tags may contain a label that a user chose.
func FileTag(tag string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.,+@#~", r) {
			return r
		}
		return '-'
	}, strings.ReplaceAll(tag, " #", "-"))
}

// Distinct returns the strings without repetitions, in their original order.
func Distinct(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// PerTag collects texts about runs. A text that applies to several runs is printed once, after all
// their tags.
type PerTag struct {
	texts []string
	tags  map[string][]string
}

// Add adds a text about the run with this tag, or about all runs if tag is "".
func (p *PerTag) Add(tag, text string) {
	if p.tags == nil {
		p.tags = map[string][]string{}
	}
	if p.tags[text] == nil {
		p.texts = append(p.texts, text)
	}
	p.tags[text] = append(p.tags[text], tag)
}

// Texts returns the texts in the order in which they were first added.
func (p *PerTag) Texts() []string { return p.texts }

func (p *PerTag) Tags(text string) []string { return p.tags[text] }

// Lines returns one line per text: the tags, then the text.
func (p *PerTag) Lines() (lines []string) {
	for _, text := range p.texts {
		lines = append(lines, after(p.joinedTags(text), text))
	}
	return lines
}

// Joined returns one line for each set of tags with all its texts, which must be short.
func (p *PerTag) Joined() (lines []string) {
	var order []string
	of := map[string][]string{}
	for _, text := range p.texts {
		tags := p.joinedTags(text)
		of[tags] = append(of[tags], text)
		order = append(order, tags)
	}
	for _, tags := range Distinct(order) {
		lines = append(lines, after(tags, strings.Join(of[tags], ", ")))
	}
	return lines
}

func (p *PerTag) joinedTags(text string) string { return strings.Join(Distinct(p.tags[text]), ", ") }

func after(tags, text string) string {
	if tags == "" {
		return text
	}
	return tags + ": " + text
}
