package ability

import (
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// PercentKind accepts a share from 0% to 100%.
func PercentKind() yamlfile.Kind[workload.Percent] {
	return yamlfile.Kind[workload.Percent]{
		Unit: "percent",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (workload.Percent, bool) {
			f, ok := yamlfile.Percent(r, key, node)
			return workload.Percent(f), ok
		},
		Node:   func(p workload.Percent) *yamlfile.Node { return yamlfile.TextNode(p.String()) },
		Schema: yamlfile.Schema{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)? *%$`},
	}
}
