package control

import (
	"fmt"
	"maps"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// Agents is what is known of agents without asking them: nothing of those on other
// machines but whether control would talk to them.
type Agents struct {
	// Refuse says why Connect refuses the agent at an address; nil if it takes all.
	Refuse func(addr string) error
	// Tools are executables that the agents were told of, by name.
	Tools map[string]string
	// Release returns the tools of a release in the agents' cache, by name, and nil
	// if it is not there; nil if nobody knows.
	Release func(name, version string) map[string]string
	// WorkDir is where they make members' directories; "" if nobody knows.
	WorkDir string
}

// refuses says why the first of a database's agents that is refused is, as a run
// does.
func (a Agents) refuses(db *config.Database) error {
	if a.Refuse == nil {
		return nil
	}
	for _, h := range db.Hosts {
		if err := a.Refuse(h.Agent()); err != nil {
			return fmt.Errorf("agent %s: %w", h.Agent(), err)
		}
	}
	return nil
}

// tools are what a driver would run besides this binary, by the rules of agents:
// what they were told of goes first, then the release that is asked for, then the
// server in the binary. A path that nobody here knows begins with a variable.
func (a Agents) tools(e *config.Experiment, entry database.Database, db *config.Database) map[string]string {
	tools := map[string]string{}
	for _, name := range entry.Info.Tools {
		if path := a.Tools[name]; path != "" {
			tools[name] = path
		}
	}
	if len(entry.Info.Tools) == 0 {
		return tools
	}
	server := entry.Info.Tools[0]
	if db.Binary != "" {
		tools[server] = db.Binary
	}
	if tools[server] != "" {
		return tools
	}
	version := database.PlainVersion(release(e, entry, db))
	var released map[string]string
	if version != "" && a.Release != nil {
		released = a.Release(entry.Name, version)
	}
	embedded := entry.Info.Embedded
	switch {
	case released != nil:
		maps.Copy(released, tools)
		return released
	case embedded != "" && (version == "" || version == embedded && !db.Install):
	case version != "":
		// A release of what stands behind a proxy holds no proxy.
		own := entry.ReleaseTools(version)
		if own == nil { // a run will be refused
			own = []string{server}
		}
		for _, tool := range own {
			if tools[tool] == "" {
				tools[tool] = fmt.Sprintf("$CACHE/%s/%s/%s", entry.Name, version, tool)
			}
		}
	case a.Release == nil: // each agent may have been told of one
		tools[server] = "$TOOLS/" + server
	}
	return tools
}
