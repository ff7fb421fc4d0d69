package analyze

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// readLeaders takes from the events which member led when the load began, and which
// ones were found to lead after it until the load ended.
func (c *column) readLeaders(path string) {
	events, err := results.ReadEvents(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.broken(filepath.Base(path), problem(path, err))
	}
	for _, e := range events {
		switch at := e.Time.UnixNano(); {
		case e.Kind != results.EventLeader:
		case at < c.window.from:
			c.leaders = []int{e.Member}
		case at <= c.window.to:
			c.leaders = append(c.leaders, e.Member)
		}
	}
}

// mostLeaders is how many leaders of one load a cell names.
const mostLeaders = 5

// leader says who led; without events, what the manifest says.
func leader(c *column) Cell {
	all := c.leaders
	if len(all) == 0 {
		all = []int{c.run.Leader}
	}
	var parts []string
	for _, index := range all {
		if index < 0 || index >= len(c.run.Members) {
			return missing("not known when the load began")
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", index+1, c.run.Members[index].Addr))
	}
	text := "member " + strings.Join(parts[:min(len(parts), mostLeaders)], ", then ")
	if more := len(parts) - mostLeaders; more > 0 {
		text += fmt.Sprintf(", and %s more", humanize.Comma(int64(more)))
	}
	return number(float64(all[0]+1), 0, "%s", text)
}
