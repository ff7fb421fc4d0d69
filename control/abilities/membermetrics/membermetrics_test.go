package membermetrics

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zetcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// answers is a member in the clock of a test.
type answers func() error

func (a answers) Scrape(ctx context.Context) (results.DatabaseSample, error) {
	s := results.NewDatabaseSample()
	s.UnixNano, s.AskedNS, s.Bytes = time.Now().UnixNano(), 5, 100
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	err := a()
	switch {
	case errors.Is(err, errOther):
		return s, nil
	case err != nil:
		s.Error, s.Bytes = err.Error(), 0
	default:
		s.Values.Set(metric.IsLeader, 1)
	}
	return s, err
}

func (answers) Close() {}

// errOther makes a member answer with a page from another program.
var errOther = errors.New("a page")

func TestAnswerOfAnother(t *testing.T) {
	m := &member{path: filepath.Join(t.TempDir(), "1.csv"), scraper: answers(func() error { return errOther })}
	m.ask(t.Context())
	if want := (membermetrics.Scraped{Unanswered: 1, Asked: 5, Bytes: 100}); m.counts != want || !strings.Contains(m.why, "none of the database's metrics") {
		t.Errorf("an answer without a metric must be none, got %+v and %q", m.counts, m.why)
	}
}

// A member is scraped when the warm-up ends, at each interval and at the end. Its answers are
// written; failures before its first answer are only counted.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		for _, test := range []struct {
			warmUp time.Duration
			fails  map[time.Duration]bool
			rows   string
			counts membermetrics.Scraped
			why    string
		}{
			{0, nil, "10 20 25", membermetrics.Scraped{Answered: 3, Asked: 15, Bytes: 300}, ""},
			{3 * time.Second, map[time.Duration]bool{10: true}, "3 10! 20 25", membermetrics.Scraped{Answered: 3, Unanswered: 1, Asked: 20, Bytes: 300}, ""},
			{0, map[time.Duration]bool{10: true}, "20 25", membermetrics.Scraped{Answered: 2, Unanswered: 1, Asked: 15, Bytes: 200}, ""},
			{0, map[time.Duration]bool{10: true, 20: true, 25: true}, "", membermetrics.Scraped{Unanswered: 3, Asked: 15}, "it refuses"},
		} {
			started = time.Now()
			shown := int64(0)
			m := &member{path: filepath.Join(t.TempDir(), "1.csv"), show: func(results.DatabaseSample) { shown++ }, scraper: answers(func() error {
				if test.fails[time.Since(started)/time.Second] {
					return errors.New("it refuses")
				}
				return nil
			})}
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			m.run(ctx, 10*time.Second, test.warmUp)
			cancel()
			if err := m.close(); err != nil {
				t.Errorf("close: %v", err)
			}
			samples, err := results.ReadDatabaseSamples(m.path)
			if err != nil {
				t.Errorf("read the file: %v", err)
			}
			var rows []string
			for _, s := range samples {
				row := fmt.Sprint((s.UnixNano - started.UnixNano()) / 1e9)
				if s.Error != "" {
					row += "!"
				}
				rows = append(rows, row)
			}
			if got := strings.Join(rows, " "); got != test.rows || m.counts != test.counts || m.why != test.why || shown != m.counts.Answered {
				t.Errorf("want rows at %q, %+v and %q, got %q, %+v and %q, of which %d were shown", test.rows, test.counts, test.why, got, m.counts, m.why, shown)
			}
		}
	})
}

// Each driver knows where its members report, proxies report nothing, and `metrics: false` asks
// no member.
func TestDescribe(t *testing.T) {
	at := func(url string) string {
		return "read the members' own metrics every 10s: " + url
	}
	plan := membermetrics.Plan{Every: 10 * time.Second}
	for _, test := range []struct {
		driver database.Driver
		plan   membermetrics.Plan
		tls    *config.TLS
		off    bool
		want   string
	}{
		{etcd.New(), plan, nil, false, at("http://10.0.0.2:1234/metrics")},
		{etcd.New(), plan, &config.TLS{}, false, at("https://10.0.0.2:1234/metrics")},
		{etcd.New(), membermetrics.Plan{Every: 10 * time.Second, URL: "http://{host}:2381/metrics"}, nil, false, at("http://10.0.0.2:2381/metrics")},
		{consul.New(), plan, nil, false, at("http://10.0.0.2:1234/v1/agent/metrics?format=prometheus")},
		{zookeeper.New(), plan, nil, false, at("mntr to 10.0.0.2:1234")},
		{zetcd.New(), plan, nil, false, ""},
		{etcd.New(), membermetrics.Plan{}, nil, false, ""},
		{etcd.New(), plan, nil, true, ""},
	} {
		db := &config.Database{TLS: test.tls, Abilities: membermetrics.Keys().With(nil, test.plan)}
		h := New(&abilities.Run{
			Experiment: &config.Experiment{Metrics: !test.off}, DB: db, Driver: test.driver,
			Target: &database.Target{Endpoints: []string{"10.0.0.2:1234"}},
		})
		if got := strings.Join(h.Describe(), "\n"); got != test.want {
			t.Errorf("%T: want %q, got %q", test.driver, test.want, got)
		}
	}
}
