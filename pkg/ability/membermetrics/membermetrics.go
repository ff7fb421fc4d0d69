// Package membermetrics declares that control reads member metrics on a cluster that runs already,
// without agents.
package membermetrics

import (
	"fmt"
	"net"
	neturl "net/url"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "membermetrics", Keys: Keys(), Member: Record()}
}

// Record declares the record of requests by control for member metrics. It is zero if there were no
// requests.
func Record() ability.Record[Scraped] { return ability.Record[Scraped]{Key: "scraped"} }

// Scraped counts the requests for member metrics.
type Scraped struct {
	// Every is the time between two requests.
	Every time.Duration `json:"every_ns"`
	// Answered and Unanswered count the requests.
	Answered   int64 `json:"answered"`
	Unanswered int64 `json:"unanswered"`
	// Asked is the time that all requests took together, and Bytes the total answer size.
	Asked time.Duration `json:"asked_ns"`
	Bytes int64         `json:"answer_bytes"`
}

// Plan is how control reads metrics from members that have no agents. The zero plan reads no
// metrics.
type Plan struct {
	Every time.Duration `json:"every_ns"`
	// URL is where members serve their metrics in Prometheus' text format, with [HostPart] and
	// perhaps [PortPart]; "" means the usual place for the driver.
	URL string `json:"url,omitempty"`
}

// The placeholders in [Plan.URL] for a member's host and port.
const (
	HostPart = "{host}"
	PortPart = "{port}"
)

// The bounds for [Plan.Every].
const (
	shortest = time.Second
	longest  = 10 * time.Minute
)

// Source returns where to read a member's metrics. by is the source that the driver names. A URL
// from the file gets no credentials, as it may belong to another program.
func (p Plan) Source(by database.MetricsSource, endpoint string) (database.MetricsSource, error) {
	if p.URL == "" {
		return by, nil
	}
	url, err := p.at(endpoint)
	if err != nil {
		return by, err
	}
	return database.MetricsSource{URL: url, Metrics: by.Metrics}, nil
}

// at returns the URL for a member endpoint.
func (p Plan) at(endpoint string) (string, error) {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", fmt.Errorf("url of a member's metrics: %w", err)
	}
	if host = strings.ReplaceAll(host, "%", "%25"); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return strings.NewReplacer(HostPart, host, PortPart, port).Replace(p.URL), nil
}

// check returns why the URL cannot serve member metrics.
func (p Plan) check() error {
	if !strings.Contains(p.URL, HostPart) {
		return fmt.Errorf("must have %s, which stands for the host of each endpoint, got %q", HostPart, p.URL)
	}
	url, err := p.at("host:1")
	if err != nil {
		return err
	}
	switch u, err := neturl.Parse(url); {
	case err != nil:
		return fmt.Errorf("must be a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("must begin with http:// or https://, got %q", p.URL)
	case u.User != nil:
		return fmt.Errorf("must have no user and no password: it is recorded")
	case u.Host == "":
		return fmt.Errorf("must have %s as its host, got %q", HostPart, p.URL)
	}
	return nil
}

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "scrape", Meaning: "how control reads member metrics from `endpoints`: the [`scrape` keys](#keys-of-scrape)", Fields: section, Resolved: resolve,
		Shown: func(p Plan, _ workload.Load) *yamlfile.Node {
			if p == (Plan{}) {
				return nil
			}
			return section().Show(&p).Flow()
		},
	}
}

// section declares the keys.
func section() yamlfile.Section[Plan] {
	return yamlfile.Section[Plan]{
		Fields: []yamlfile.Field[Plan]{
			yamlfile.Key[Plan, time.Duration]{
				Row:  yamlfile.Row{Name: "every", Preset: "10s", Meaning: "time between two requests to a member, from `1s` to `10m`"},
				Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.Every },
			}.Field(),
			yamlfile.Key[Plan, string]{
				Row:  yamlfile.Row{Name: "url", Usually: "the client port", Meaning: "where members serve metrics in Prometheus' text format, such as `http://{host}:2381/metrics`; `{host}` and `{port}` come from an endpoint. Requests use `tls`, but no credentials"},
				Kind: yamlfile.FilledKind(), At: func(p *Plan) *string { return &p.URL },
				Shown: func(p *Plan) bool { return p.URL != "" },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *yamlfile.Written[Plan]) {
			if d := w.Is.Every; w.Has("every") && (d < shortest || d > longest) {
				r.Errorf(w.NodeOf("every"), "every must be from %v to %v, got %v; `metrics: false` reads no metrics", shortest, longest, d)
			}
			if w.Has("url") {
				if err := w.Is.check(); err != nil {
					r.Errorf(w.NodeOf("url"), "url %v", err)
				}
			}
		},
	}
}

// resolve returns the plan for one database. Keys at the top of the file apply to running clusters
// whose members report metrics.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	_, reports := d.Options.(database.MetricsReporter)
	switch {
	case !d.Running && own.Given():
		r.Errorf(own.Node, "scrape: control reads the metrics of a cluster that is already running, given by endpoints; agents read those of the members that they start each second")
	case d.Running && !reports && own.Given():
		r.Errorf(own.Node, "scrape: members of %s report no metrics of themselves", d.Name)
	}
	if !d.Running || !reports {
		return Plan{}
	}
	fields := section()
	return fields.Filled(fields.Over(own, all))
}
