package faults

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// mostProbes bounds the pending probes to one member.
	mostProbes = 50
	// probeTimeout bounds a probe, including its connection.
	probeTimeout = time.Second
	// removeTimeout bounds the removal of a probe key after the load, including its connection. It
	// is long: nothing is measured any more.
	removeTimeout = 10 * time.Second
	// writeEvery is the interval at which probes are written.
	writeEvery = time.Second
)

// do probes all members until ctx ends.
func (p *prober) do(ctx context.Context) {
	file, err := faults.NewProbeWriter(filepath.Join(p.run.Dir, results.FileProbes))
	if err != nil {
		p.failed(err)
		return
	}
	var wg sync.WaitGroup
	for i := range p.run.Record.Members {
		m := &memberProber{prober: p, member: i}
		p.members = append(p.members, m)
		wg.Go(func() { m.do(ctx) })
	}
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		p.write(&file)
	}
	wg.Wait()
	p.write(&file)
	p.failed(file.Close())
}

// end removes the probe keys once the probes and the faults are over: a paused member would not
// answer, and would apply earlier probes afterwards.
func (p *prober) end(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range p.members {
		wg.Go(func() { m.end(ctx) })
	}
	wg.Wait()
}

// write writes the probe results.
func (p *prober) write(file *linefile.TableWriter[faults.Probe]) {
	p.mu.Lock()
	rows := p.rows
	p.rows = nil
	p.mu.Unlock()
	p.failed(file.Write(rows))
}

// leave counts a key that may not be removed.
func (p *prober) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left++
}

// failed keeps err unless it is nil.
func (p *prober) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && len(p.errs) == 0 {
		p.errs = append(p.errs, err)
	}
}

func (p *prober) note(row faults.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, row)
}

// record marks a run whose probes are not complete.
func (p *prober) record() {
	for _, err := range p.errs {
		p.run.Mark(mark.ProbesMissing, nil, mark.Words{"why": oneLine(err)})
	}
}

// do sends a probe each time one is due, until ctx ends.
func (m *memberProber) do(ctx context.Context) {
	slots := make(chan struct{}, mostProbes)
	var wg sync.WaitGroup
	ticker := time.NewTicker(m.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			wg.Wait()
			return
		case <-ticker.C:
		}
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				m.one(ctx)
			})
		default:
			m.note(faults.Probe{Member: m.member + 1, SentNS: time.Now().UnixNano(), Class: faults.NotSent})
		}
	}
}

// key returns the key for probes to m.
func (m *memberProber) key() []byte { return fmt.Appendf(nil, "dbtester-probe-%d", m.member+1) }

// one sends a probe and records its outcome, unless ctx ends meanwhile.
func (m *memberProber) one(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sent := time.Now()
	client, err := m.client(within)
	if err == nil {
		err = put(within, client, m.key())
		m.giveBack(client, err)
	}
	took := time.Since(sent)
	if err != nil && ctx.Err() != nil {
		return
	}
	row := faults.Probe{Member: m.member + 1, SentNS: sent.UnixNano(), TookNS: int64(took)}
	if err != nil {
		_, class := database.Classify(err)
		row.Class = string(class)
	}
	m.note(row)
}

// put writes the key of a probe. It exists after the first probe: an attempt to create it first
// would cost new connections to ZooKeeper a second transaction.
func put(ctx context.Context, client database.Client, key []byte) error {
	value := []byte("probe")
	if hinted, ok := client.(database.HintedPutter); ok {
		return hinted.PutExisting(ctx, key, value)
	}
	return client.Put(ctx, key, value)
}

// client returns an unused connection.
func (m *memberProber) client(ctx context.Context) (database.Client, error) {
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		c := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return c, nil
	}
	m.mu.Unlock()
	target := *m.run.Target
	target.Prefer = m.member
	return m.run.Driver.Dial(ctx, target)
}

// giveBack keeps c for other probes, or closes it after an error.
func (m *memberProber) giveBack(c database.Client, err error) {
	if err != nil {
		_ = c.Close() // its probe failed already
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, c)
}

// end removes the probe key and closes the connections. It first writes the key once more, after
// all that the member received before. A probe that is still on its way may arrive later, and the
// key count would show it.
func (m *memberProber) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	client, err := m.client(ctx)
	if err == nil {
		if deleter, ok := client.(database.Deleter); ok {
			if err = client.Put(ctx, m.key(), []byte("probe")); err == nil {
				err = deleter.Delete(ctx, m.key())
			}
		}
		m.giveBack(client, err)
	}
	if err != nil {
		m.leave()
		m.failed(fmt.Errorf("remove the key of the probes of member %d: %w", m.member+1, err))
	}
	for _, c := range m.idle {
		m.failed(c.Close())
	}
}
