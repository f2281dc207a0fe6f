package dsql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
)

// What Temporal's configuration says about the store, and what of it nobody listens to.

// SQLConfig is the configuration of Temporal's SQL stores for the options of a custom data store.
func SQLConfig(options map[string]any) *config.SQL {
	cfg, _ := parseOptions(options)
	return cfg
}

// parseOptions also says which options are ignored and why, one sentence each.
func parseOptions(options map[string]any) (*config.SQL, []string) {
	cfg := &config.SQL{PluginName: PluginName, TaskScanPartitions: 1}
	var ignored []string
	fail := func(name string, value any, wanted string) {
		ignored = append(ignored, fmt.Sprintf("option %s: %v is not %s, so it is ignored", name, value, wanted))
	}
	number := func(name string, value any, to *int) {
		n, err := strconv.Atoi(fmt.Sprint(value))
		if err != nil || n < 1 || n > 10000 {
			fail(name, value, "a number from 1 to 10000")
			return
		}
		*to = n
	}
	for name, value := range options {
		switch name {
		case "endpoint":
			cfg.ConnectAddr = fmt.Sprint(value)
		case "user":
			cfg.User = fmt.Sprint(value)
		case "database":
			cfg.DatabaseName = fmt.Sprint(value)
		case "maxConns":
			number(name, value, &cfg.MaxConns)
		case "maxIdleConns":
			number(name, value, &cfg.MaxIdleConns)
		case "maxConnLifetime":
			age, err := time.ParseDuration(fmt.Sprint(value))
			if err != nil || age < time.Minute {
				fail(name, value, "a duration of at least 1m")
				continue
			}
			cfg.MaxConnLifetime = age
		default:
			ignored = append(ignored, fmt.Sprintf("option %s is not known here, so it is ignored; there are endpoint, user, "+
				"database, maxConns, maxIdleConns and maxConnLifetime", name))
		}
	}
	slices.Sort(ignored)
	return cfg, ignored
}

// serviceLifetime is when Aurora DSQL ends a connection.
const serviceLifetime = time.Hour

// ignoredSQL is what the configuration of a SQL store asks for in vain.
func ignoredSQL(cfg *config.SQL) []string {
	var ignored []string
	for name, given := range map[string]bool{
		"password": cfg.Password != "", "tls": cfg.TLS != nil, "connectAttributes": len(cfg.ConnectAttributes) > 0,
	} {
		if given {
			ignored = append(ignored, name+" is ignored: libdsql makes its own tokens, and TLS is always verified")
		}
	}
	if cfg.MaxIdleConns != 0 && cfg.MaxIdleConns != cfg.MaxConns {
		ignored = append(ignored, "maxIdleConns is ignored: idle connections are kept, as many as maxConns")
	}
	if cfg.MaxConnLifetime >= serviceLifetime {
		ignored = append(ignored, fmt.Sprintf("maxConnLifetime %v is ignored: Aurora DSQL ends a connection after an hour", cfg.MaxConnLifetime))
	}
	slices.Sort(ignored)
	return ignored
}

var said sync.Map

// sayIgnored logs each sentence once in the life of the process: every service of a server asks for a store.
func sayIgnored(logger log.Logger, sentences []string) {
	for _, sentence := range sentences {
		if logger == nil {
			continue
		}
		if _, before := said.LoadOrStore(sentence, true); !before {
			logger.Warn("dsql: " + strings.TrimSpace(sentence))
		}
	}
}
