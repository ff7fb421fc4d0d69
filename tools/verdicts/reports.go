package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/analyze/answers"
)

// realScreen is the first screen for a set of runs on equal databases.
type realScreen struct {
	set    string
	answer answers.Answer
}

// realScreens reads the reports below a folder, FOLDER/set-*/report.json, in their order.
func realScreens(folder string) (list []realScreen, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "set-*", "report.json"))
	if err != nil {
		return nil, fmt.Errorf("find reports: %w", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a report: %w", err)
		}
		var report struct {
			Headline struct {
				Answer answers.Answer `json:"answer"`
			} `json:"headline"`
		}
		if err := json.Unmarshal(data, &report); err != nil {
			return nil, fmt.Errorf("read the report %s: %w", path, err)
		}
		list = append(list, realScreen{filepath.Base(filepath.Dir(path)), report.Headline.Answer})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s must hold reports as set-*/report.json", folder)
	}
	return list, nil
}

// realScreenTable prints the sentences on the first screens for sets with equal databases. It fails
// if more than a tenth of them name a winner, which is twice the permitted share.
func realScreenTable(out io.Writer, screens []realScreen) error {
	var winners int
	var rows strings.Builder
	for _, s := range screens {
		named := "none"
		if len(s.answer.Claims) > 0 {
			winners++
			named = fmt.Sprintf("%s (p %.3f)", s.answer.Claims[0].Ahead, s.answer.Claims[0].P)
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", s.set, named, s.answer.Sentence, s.answer.Basis)
	}
	fmt.Fprintf(out, "%d of %d first screens name a winner; the upper end of the interval of 95 %% is %.0f %%.\n\n", winners, len(screens), 100*upperEnd(winners, len(screens)))
	fmt.Fprintf(out, "| set | winner | sentence | what it rests on |\n|---|---|---|---|\n%s", rows.String())
	if 10*winners > len(screens) {
		return fmt.Errorf("%d of %d first screens of equal databases name a winner", winners, len(screens))
	}
	return nil
}
