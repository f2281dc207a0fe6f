// temporal-visibility compares two visibility stores of Temporal, of which one is usually the one on Aurora DSQL: it
// writes the same random runs into both and asks both the same random queries. 'bench' measures the same two.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

const usage = `Usage: temporal-visibility diff|bench [OPTION...]

    diff     the same random runs and queries for two stores; every difference, made small
    bench    what writes, lists and counts take in two stores

A store is dsql (the cluster of the environment), sqlite (in memory) or the
directory of the socket of a PostgreSQL with Temporal's visibility in its
database 'visibility', user 'stock'; tls:PORT:CERTIFICATE is such a one behind a
relay on this port of this machine, which has this certificate.

Options:
`

type options struct {
	reference, subject string
	also               string
	seed               uint64
	runs, queries      int
	only               int
	at                 int
	rounds             int
	kept, bulk         bool
}

func parse(arguments []string) (string, options) {
	var o options
	flags := flag.NewFlagSet("temporal-visibility", flag.ExitOnError)
	flags.StringVar(&o.reference, "reference", "sqlite", "the `STORE` that is right")
	flags.StringVar(&o.subject, "subject", "dsql", "the `STORE` that is tried")
	flags.StringVar(&o.also, "also", "", "bench: the reference by another way, for questions, a `STORE`")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "of the runs and the queries")
	flags.IntVar(&o.runs, "runs", 2000, "how many runs")
	flags.IntVar(&o.queries, "queries", 1000, "how many queries")
	flags.IntVar(&o.only, "only", -1, "ask only the query of this number")
	flags.IntVar(&o.at, "at", 8, "how many writers or queries at once")
	flags.IntVar(&o.rounds, "rounds", 21, "bench: how often each list and count is asked")
	flags.BoolVar(&o.kept, "kept", false, "the stores hold the runs of this seed already")
	flags.BoolVar(&o.bulk, "bulk", false, "bench: runs that are not measured are written many at once, past the stores")
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	if len(arguments) == 0 {
		flags.Usage()
		os.Exit(2)
	}
	_ = flags.Parse(arguments[1:])
	return arguments[0], o
}

func run() error {
	command, o := parse(os.Args[1:])
	reference, err := openStore(o.reference)
	if err != nil {
		return err
	}
	defer reference.Close()
	subject, err := openStore(o.subject)
	if err != nil {
		return err
	}
	defer subject.Close()
	switch command {
	case "diff":
		return diff(os.Stdout, o, reference, subject)
	case "bench":
		stores := []*tried{reference, subject}
		if o.also != "" {
			also, err := openStore(o.also)
			if err != nil {
				return err
			}
			defer also.Close()
			stores = []*tried{reference, also, subject}
		}
		return bench(os.Stdout, o, stores)
	default:
		return fmt.Errorf("there is no command %s", command)
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "temporal-visibility: %v\n", err)
		os.Exit(1)
	}
}
