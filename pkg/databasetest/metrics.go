package databasetest

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member/scrape"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// metricsWithin bounds the time until members have updated their metrics and are idle.
const metricsWithin = Patience

// metricsEvery is the pause before a member is scraped again.
const metricsEvery = 100 * time.Millisecond

// metricsCase: agents read the same values as the member reports itself.
func metricsCase(t *testing.T, f *fixture) {
	config, err := f.Target().TLS.Config()
	if err != nil {
		t.Fatalf("read the certificates: %v", err)
	}
	sources := make([]database.MetricsSource, len(f.hosts))
	for i := range f.hosts {
		sources[i] = *f.Plan(i).Metrics
	}
	f.part(t, "known", func(t *testing.T) {
		if f.suite.Version == "" {
			labelled(t, sources, config)
		}
		for i, source := range sources {
			sample := scraped(t, source, config)
			// An old release reports less.
			if f.suite.Version == "" {
				complete(t, i, source, sample)
			}
			if n, h := sample.Values.Get(metric.Fsyncs), sample.Histograms[metric.FsyncHistogram]; h.Known() && h.Count() != n {
				t.Errorf("the histogram of member %d must count its %g fsyncs, got %g", i, n, h.Count())
			}
		}
	})
	if reporter, ok := f.driver.(database.MetricsReporter); ok {
		f.part(t, "of a cluster that runs already", func(t *testing.T) {
			for i := range f.hosts {
				sample := scraped(t, reporter.Reports(f.Target(), i), config)
				for _, m := range sources[i].Metrics {
					if f.suite.Version == "" && sample.Values.Get(m.Name) < 0 && !sample.Histograms[m.Name].Known() {
						t.Errorf("member %d must report %s to control, as it does to agents", i, m.Name)
					}
				}
			}
		})
	}
	f.part(t, "fsyncs", func(t *testing.T) {
		if scraped(t, sources[0], config).Values.Get(metric.Fsyncs) < 0 {
			return // this release does not count them
		}
		before := allFsyncs(t, sources, config)
		client := f.dial(t, f.Target())
		for range 20 {
			put(t, client, f.key(), bytesOf(100))
		}
		Until(t, metricsWithin, metricsEvery, func() error {
			if grown := allFsyncs(t, sources, config) - before; grown < float64(len(sources)) {
				return fmt.Errorf("20 writes must have made %d members write their logs, got %g more fsyncs", len(sources), grown)
			}
			return nil
		})
		for i, source := range sources {
			ownFsyncs(t, i, source, config)
		}
	})
}

// scraped scrapes a member as an agent does. A busy machine may take longer than an agent
// waits, so scraped retries.
func scraped(t *testing.T, source database.MetricsSource, config *tls.Config) (sample results.DatabaseSample) {
	t.Helper()
	s := scrape.New(source, config)
	defer s.Close()
	Until(t, metricsWithin, metricsEvery, func() (err error) {
		sample, err = s.Scrape(t.Context())
		return err
	})
	return sample
}

// complete fails the test if a metric the driver lists is unknown.
func complete(t *testing.T, member int, source database.MetricsSource, sample results.DatabaseSample) {
	t.Helper()
	for _, m := range source.Metrics {
		if metric.OfDatabase().Must(m.Name).Kind == metric.Histogram {
			if !sample.Histograms[m.Name].Known() {
				t.Errorf("member %d must report the histogram %s as %q", member, m.Name, m.Raw)
			}
		} else if sample.Values.Get(m.Name) < 0 {
			t.Errorf("member %d must report %s as %q", member, m.Name, m.Raw)
		}
	}
}

// labelled waits until a member reports each number with labels the driver lists, which are 0
// before the first event. Only the leader reports some of them, and a member alone has no peers.
func labelled(t *testing.T, sources []database.MetricsSource, config *tls.Config) {
	t.Helper()
	Until(t, metricsWithin, metricsEvery, func() error {
		most := map[metric.Name]float64{}
		for _, source := range sources {
			sample := scraped(t, source, config)
			for _, m := range source.Metrics {
				most[m.Name] = max(most[m.Name], sample.Values.Get(m.Name))
			}
		}
		ofPeers := []metric.Name{metric.PeerTrips, metric.PeerTripSeconds, metric.Replications, metric.ReplicationSeconds}
		for _, m := range sources[0].Metrics {
			if alone := len(sources) == 1 && slices.Contains(ofPeers, m.Name); m.Labelled && !alone && most[m.Name] <= 0 {
				return fmt.Errorf("some member must report %s as %q", m.Name, m.Raw)
			}
		}
		return nil
	})
}

func allFsyncs(t *testing.T, sources []database.MetricsSource, config *tls.Config) (sum float64) {
	t.Helper()
	for _, source := range sources {
		sum += scraped(t, source, config).Values.Get(metric.Fsyncs)
	}
	return sum
}

// ownFsyncs compares the scraped fsyncs with those in the member's own text, which it fetches
// itself. It retries if the member was not idle meanwhile.
func ownFsyncs(t *testing.T, member int, source database.MetricsSource, config *tls.Config) {
	t.Helper()
	var names []string // which are added, or of which the member has one
	for _, m := range source.Metrics {
		if m.Name == metric.Fsyncs {
			names = append(names, regexp.QuoteMeta(m.Raw))
		}
	}
	line := regexp.MustCompile(`(?m)^(?:` + strings.Join(names, "|") + `)\s+(\S+)\s*$`)
	Until(t, metricsWithin, metricsEvery, func() error {
		before := scraped(t, source, config).Values.Get(metric.Fsyncs)
		text, err := ownText(source, config)
		after := scraped(t, source, config).Values.Get(metric.Fsyncs)
		found := line.FindAllStringSubmatch(text, -1)
		if err != nil || found == nil || before != after {
			return fmt.Errorf("member %d was not idle, or has none of %q: %g and %g fsyncs, %v", member, names, before, after, err)
		}
		sum := 0.0
		for _, of := range found {
			own, err := strconv.ParseFloat(of[1], 64)
			if err != nil {
				t.Errorf("member %d counts %q fsyncs", member, of[1])
			}
			sum += own
		}
		if sum != before {
			t.Errorf("member %d counts %g fsyncs and %g were read", member, sum, before)
		}
		return nil
	})
}

// ownText fetches a member's report without the tested code.
func ownText(source database.MetricsSource, config *tls.Config) (string, error) {
	if source.URL != "" {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport, Timeout: opWithin}).Get(source.URL)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	var conn net.Conn
	var err error
	if config != nil {
		conn, err = tls.Dial("tcp", source.Address, config)
	} else {
		conn, err = net.DialTimeout("tcp", source.Address, opWithin)
	}
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(opWithin)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprint(conn, source.Command); err != nil {
		return "", err
	}
	var text strings.Builder
	_, err = io.Copy(&text, conn)
	return text.String(), err
}
