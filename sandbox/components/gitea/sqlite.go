package main

import (
	"database/sql"
	"database/sql/driver"
	"net/url"
	"strings"

	"code.gitea.io/gitea/modules/setting"
	"modernc.org/sqlite"
)

// Gitea knows SQLite only with the build tag "sqlite", which needs cgo. This
// registers the pure Go driver under the name that Gitea's engine opens.
func init() {
	sql.Register("sqlite3", pureDriver{})
	setting.EnableSQLite3 = true
	setting.SupportedDatabaseTypes = append(setting.SupportedDatabaseTypes, "sqlite3")
}

// pureDriver turns the connection options of the cgo driver, which Gitea
// writes, into the pragmas of the pure Go driver.
type pureDriver struct{ d sqlite.Driver }

func (p pureDriver) Open(dsn string) (driver.Conn, error) {
	path, query, _ := strings.Cut(dsn, "?")
	in, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	out := url.Values{"_txlock": {"immediate"}}
	if ms := in.Get("_busy_timeout"); ms != "" {
		out.Add("_pragma", "busy_timeout("+ms+")")
	}
	if mode := in.Get("_journal_mode"); mode != "" {
		out.Add("_pragma", "journal_mode("+mode+")")
	}
	out.Add("_pragma", "synchronous(NORMAL)")
	return p.d.Open(path + "?" + out.Encode())
}
