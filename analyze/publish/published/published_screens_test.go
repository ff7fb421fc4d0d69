package published

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firstScreen is the first screen in the JSON file of a published report.
type firstScreen struct {
	Title    string `json:"title"`
	Headline struct {
		Answer struct {
			Kind     string `json:"kind"`
			Sentence string `json:"sentence"`
			Look     bool   `json:"look"`
			Claims   []struct {
				Ahead, Behind, Number, Point string
				Ratio, P                     float64
				Trials                       int
			} `json:"claims"`
		} `json:"answer"`
		Grade struct {
			Letter string `json:"letter"`
		} `json:"grade"`
		Points struct {
			Columns []string `json:"columns"`
			Rows    []struct {
				Label string `json:"label"`
				Cells []struct {
					Throughput, P50, P99 screenValue
				} `json:"cells"`
			} `json:"rows"`
		} `json:"points"`
		Card struct {
			Head []string   `json:"head"`
			Rows [][]string `json:"rows"`
		} `json:"card"`
		Facts struct {
			Columns []string `json:"columns"`
			Rows    []struct {
				Texts []string `json:"texts"`
			} `json:"rows"`
		} `json:"facts"`
		Rows []struct {
			Cells []struct {
				Text   string `json:"text"`
				Spread string `json:"spread"`
			} `json:"cells"`
		} `json:"rows"`
	} `json:"headline"`
}

type screenValue struct {
	Value *float64 `json:"value"`
	Text  string   `json:"text"`
}

// TestPublishedScreens compares each published first screen with its own tables. It answers with a
// sentence that names every database. Each number in the sentence is in a table, the winners are
// those in its claims, and the ratios in the claims are those in the table.
func TestPublishedScreens(t *testing.T) {
	paths, err := filepath.Glob("../../../test-results/*/all-aggregated.json")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d reports, %v; want the published ones", len(paths), err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var s firstScreen
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			s.check(t, dir)
		})
	}
}

// winning matches words that only sentences with claims may contain.
var winning = regexp.MustCompile(`times as (many|long|much)|times the capacity|answered the most|shortest|is ahead of| leads `)

func (s *firstScreen) check(t *testing.T, dir string) {
	a := s.Headline.Answer
	if a.Kind == "" || a.Kind == "none" || a.Sentence == "" || s.Headline.Grade.Letter == "" {
		t.Fatalf("the report %q has no answer: %+v", s.Title, s.Headline)
	}
	if len(a.Claims) == 0 && a.Kind != "varied" && winning.MatchString(a.Sentence) {
		t.Errorf("the sentence names a winner without a claim: %s", a.Sentence)
	}
	if a.Look && len(a.Claims) > 0 {
		t.Errorf("a look names winners: %+v", a.Claims)
	}
	for _, c := range a.Claims {
		if c.P > .05 || c.Trials < 6 || !strings.Contains(a.Sentence, c.Ahead) || !strings.Contains(a.Sentence, c.Behind) {
			t.Errorf("the claim %+v does not bear its place in: %s", c, a.Sentence)
		}
	}
	known := s.texts(t, dir)
	for _, number := range numbersOf(a.Sentence, s.names()) {
		if !slices.ContainsFunc(known, func(text string) bool { return equalTexts(text, number) }) {
			t.Errorf("%q of the sentence stands in no table: %s", number, a.Sentence)
		}
	}
}

// names are the databases by the names that the sentence may use.
func (s *firstScreen) names() (list []string) {
	list = append(list, s.Headline.Facts.Columns...)
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// texts returns all texts in the tables: on the first screen, and the values in numbers.csv.
func (s *firstScreen) texts(t *testing.T, dir string) (list []string) {
	for _, row := range s.Headline.Points.Rows {
		list = append(list, row.Label)
		for _, c := range row.Cells {
			list = append(list, c.Throughput.Text, c.P50.Text, c.P99.Text)
		}
	}
	for _, row := range append(s.Headline.Card.Rows, s.Headline.Card.Head) {
		for _, text := range row {
			list = append(list, figureText.FindAllString(text, -1)...)
		}
	}
	for _, row := range s.Headline.Facts.Rows {
		list = append(list, row.Texts...)
	}
	for _, row := range s.Headline.Rows {
		for _, c := range row.Cells {
			list = append(append(list, c.Text), figureText.FindAllString(c.Spread, -1)...)
		}
	}
	f, err := os.Open(filepath.Join(dir, "numbers.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		list = append(list, row...)
	}
	return list
}

// figureText matches a number with its unit.
var figureText = regexp.MustCompile(`[0-9][0-9,]*(?:\.[0-9]+)?(?: (?:ms|s|%)\b)?`)

// conditions are numbers in a sentence that state its conditions, and ratios, which are checked as
// claims.
var conditions = regexp.MustCompile(`(?i)with [0-9,]+ clients?|99 %|over 1 %|at [0-9,.]+/s|kept [0-9,.]+/s|p[0-9.]+ <= [0-9.]+ \w+|[0-9.,]+ times (?:as|the)|[0-9]+ of [0-9]+ (points|trials|searches)|behind at [0-9]+|\([0-9]+ undecided\)|at [0-9,]+ clients|with [0-9.]+ [kMGT]?B stored|[0-9]+ % (more|less)|[0-9.]+ % of [0-9,]+ were not answered|for [0-9.]+ s, then|answered [0-9,.]+ \w+ a second for [0-9.]+ s, then|from [0-9.]+ s|with [0-9]+ members?|of [0-9]+ faults`)

// numbersOf are the figures in a sentence that a table must have.
func numbersOf(sentence string, names []string) []string {
	for _, n := range names {
		sentence = strings.ReplaceAll(sentence, n, "")
	}
	return figureText.FindAllString(conditions.ReplaceAllString(sentence, ""), -1)
}

// equalTexts reports whether a text in a table is a number in a sentence: to the digits that the
// sentence gives, and in the unit that it has.
func equalTexts(table, sentence string) bool {
	if strings.TrimPrefix(table, ">= ") == sentence {
		return true
	}
	v, ok := valueOfText(table)
	w, known := valueOfText(sentence)
	return ok && known && w != 0 && math.Abs(v-w)/w < .006
}

// valueOfText is a number, times in ms.
func valueOfText(text string) (float64, bool) {
	number, unit, _ := strings.Cut(strings.TrimSuffix(strings.ReplaceAll(text, ",", ""), "/s"), " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	if unit == "s" {
		v *= 1000
	}
	return v, true
}
