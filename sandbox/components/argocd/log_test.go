package main

import (
	"bytes"
	"testing"

	log "github.com/sirupsen/logrus"
)

func TestFormatterLeavesRoutineOut(t *testing.T) {
	for name, c := range map[string]struct {
		level log.Level
		write func(l *log.Logger)
		want  bool
	}{
		"routine":              {log.InfoLevel, func(l *log.Logger) { l.Info("Comparing app state (cluster: x)") }, false},
		"a sync":               {log.InfoLevel, func(l *log.Logger) { l.Info("Initialized new operation") }, true},
		"a failure like it":    {log.InfoLevel, func(l *log.Logger) { l.Warn("finished call") }, true},
		"routine, when asked":  {log.DebugLevel, func(l *log.Logger) { l.Info("Comparing app state (cluster: x)") }, true},
		"below what was asked": {log.WarnLevel, func(l *log.Logger) { l.Info("Initialized new operation") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := log.New()
			l.SetOutput(&out)
			l.SetLevel(c.level)
			l.SetFormatter(newFormatter())
			c.write(l)
			if got := out.Len() > 0; got != c.want {
				t.Errorf("wrote %q", out.String())
			}
		})
	}
}
