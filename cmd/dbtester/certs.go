package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/files/address"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/trust/certs"
)

// defaultCerts is the default folder for a CA.
const defaultCerts = "certs"

type certsFlags struct {
	dir     string
	hosts   []string
	control bool
	days    int
	force   bool
}

func newCerts(a *app) *cobra.Command {
	var f certsFlags
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Make certificates for agents and control: a private CA (init), more of its certificates (issue), their hosts and ends (show)",
		Long: `Make certificates with which agents and control recognize each other.

A private certificate authority (CA) signs one certificate for control and one for
each agent. An agent serves only callers with a certificate for control, and control
calls only agents whose certificate names their host. Copy each agent's folder to its
machine and name it there with --certs; name control's folder with control --certs.
The CA's key stays here: whoever has it can make a certificate for control.

Agents and control read the files again when they change.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	initial := &cobra.Command{
		Use:     "init --hosts HOST,HOST,...",
		Short:   "Make a CA, a certificate for control, and one for the agent on each host",
		Example: "  dbtester certs init --hosts 10.0.0.2,10.0.0.3,10.0.0.4",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return f.init(a.out) },
	}
	issue := &cobra.Command{
		Use:     "issue --host HOST | --control",
		Short:   "Issue one more certificate, or with --force a new one",
		Example: "  dbtester certs issue --host db4,10.0.0.5    # one agent, reached by either\n  dbtester certs issue --control --force      # before the old one ends",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return f.issue(a.out) },
	}
	show := &cobra.Command{
		Use:     "show [FILE|DIR]...",
		Short:   "Print subject, role, hosts and end of certificates, with a warning from 30 days before the end",
		Example: "  dbtester certs show certs",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{defaultCerts}
			}
			return a.runCertsShow(args)
		},
	}
	initial.Flags().StringSliceVar(&f.hosts, "hosts", nil, "IP addresses or names of the agents' machines, as the experiment file has them")
	issue.Flags().StringSliceVar(&f.hosts, "host", nil, "IP addresses or names of one agent's machine")
	issue.Flags().BoolVar(&f.control, "control", false, "issue a certificate for control")
	f.register(initial.Flags())
	f.register(issue.Flags())
	cmd.AddCommand(initial, issue, show)
	return cmd
}

// register adds the flags that making and issuing share.
func (f *certsFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", defaultCerts, "folder of the CA")
	flags.IntVar(&f.days, "days", int(certs.DefaultLife/day), "days that the certificates are valid")
	flags.BoolVar(&f.force, "force", false, "replace existing files")
}

const day = 24 * time.Hour

// folder returns the folder for the CA, or an error for a wrong host or lifetime.
func (f certsFlags) folder() (certs.Folder, error) {
	if most := int(certs.LongestLife / day); f.days < 1 || f.days > most {
		return certs.Folder{}, usageError{fmt.Errorf("--days must be 1 to %d, got %d", most, f.days)}
	}
	for _, host := range f.hosts {
		if err := address.CheckMember(host); err != nil {
			return certs.Folder{}, usageError{err}
		}
	}
	return certs.Folder{Path: f.dir, Force: f.force, Life: time.Duration(f.days) * day, Now: time.Now()}, nil
}

func (f certsFlags) init(out io.Writer) error {
	if len(f.hosts) == 0 {
		return usageError{errors.New("--hosts is required: the machines of the agents, such as --hosts 10.0.0.2,10.0.0.3")}
	}
	folder, err := f.folder()
	if err != nil {
		return err
	}
	dirs, err := folder.Init(f.hosts)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "made a CA in %s; its key, %s, must not be copied anywhere else\n", f.dir, filepath.Join(f.dir, certs.FileCAKey))
	for i, host := range f.hosts {
		printAgentFolder(out, dirs[1+i], host)
	}
	printControlFolder(out, dirs[0])
	return nil
}

// printAgentFolder prints how to use the folder made for an agent.
func printAgentFolder(out io.Writer, dir, host string) {
	fmt.Fprintf(out, "copy %s to %s and run there: dbtester agent --agent-port %s --certs %s\n", dir, host, hostPort(host), filepath.Base(dir))
}

func printControlFolder(out io.Writer, dir string) {
	fmt.Fprintf(out, "for control: dbtester control --certs %s --config FILE\n", dir)
}

// hostPort returns host with the default port for agents.
func hostPort(host string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + agentPort
}

func (f certsFlags) issue(out io.Writer) error {
	if f.control == (len(f.hosts) > 0) {
		return usageError{errors.New("give either --host HOST or --control")}
	}
	folder, err := f.folder()
	if err != nil {
		return err
	}
	if f.control {
		dir, err := folder.IssueControl()
		if err == nil {
			printControlFolder(out, dir)
		}
		return err
	}
	dir, err := folder.IssueAgent(f.hosts)
	if err == nil {
		printAgentFolder(out, dir, f.hosts[0])
	}
	return err
}

// runCertsShow prints a line for each certificate, and then the warnings.
func (s streams) runCertsShow(paths []string) error {
	list, err := certs.Show(paths...)
	now := time.Now()
	var warnings []string
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if len(list) > 0 {
		fmt.Fprintln(w, "FILE\tSUBJECT\tROLE\tHOSTS\tUNTIL\tDAYS LEFT")
	}
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", plaintext.Visible(i.Path), plaintext.Visible(i.Subject), i.Role, plaintext.Visible(strings.Join(i.Hosts, ",")),
			i.Until.UTC().Format("2006-01-02 15:04 UTC"), max(0, int(i.Until.Sub(now)/day)))
		if text := i.Warning(now); text != "" {
			warnings = append(warnings, i.Path+" "+text)
		}
		if i.KeyExposed != nil {
			warnings = append(warnings, i.KeyExposed.Error())
		}
	}
	err = errors.Join(err, w.Flush())
	for _, text := range warnings {
		fmt.Fprintf(s.err, "dbtester: warning: %s\n", plaintext.Visible(text))
	}
	return err
}
