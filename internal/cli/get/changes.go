package get

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// newest is how many changes are listed.
const newest = 100

// changes asks a hub for the newest changes, or for the one of a number.
func (o *Options) changes(ctx context.Context) (*view.Listing, error) {
	if o.Model.ControlPlane != "" {
		return nil, usage.New("changes are what a hub knows: give --hub URL, not --control-plane")
	}
	if _, err := strconv.ParseUint(o.Name, 10, 63); o.Name != "" && err != nil {
		return nil, usage.Errorf("there is no change %q: give its number", o.Name)
	}
	client, err := o.Hub.Client(ctx, o.App)
	if err != nil {
		return nil, err
	}
	var found struct {
		Items []json.RawMessage
		Next  string
	}
	if o.Name != "" {
		found.Items = make([]json.RawMessage, 1)
		err = client.Get(ctx, "/changes/"+o.Name, nil, &found.Items[0])
	} else {
		query := url.Values{"limit": {strconv.Itoa(newest)}}
		if o.Model.Environment != "" {
			query.Set("env", o.Model.Environment)
		}
		err = client.Get(ctx, "/changes", query, &found)
	}
	if err != nil {
		return nil, err
	}
	if found.Next != "" {
		o.Messagef("note: these are the newest %d; the hub's page Changes has all", newest)
	}
	list := &view.Listing{Kind: o.Kind}
	for _, document := range found.Items {
		var c api.Change
		if err := json.Unmarshal(document, &c); err != nil {
			return nil, fmt.Errorf("the hub's answer: %w", err)
		}
		list.Rows = append(list.Rows, changeRow(c, document))
	}
	return list, nil
}

func changeRow(c api.Change, document json.RawMessage) view.Row {
	age := "-"
	for _, at := range []time.Time{c.Stages.Opened, c.Stages.Merged, c.Stages.Pushed} {
		if !at.IsZero() {
			age = duration.HumanDuration(max(0, time.Since(at)))
			break
		}
	}
	oneLine := func(s string) string { return cmp.Or(strings.Join(strings.Fields(s), " "), "-") }
	return view.Row{
		Environment: c.Environment, Name: strconv.FormatInt(c.ID, 10), Document: document, Wide: []string{oneLine(c.Reason), cmp.Or(c.URL, "-")},
		Cells: []string{c.Environment, c.Kind, string(c.State), fmt.Sprintf("%d/%d", c.Reached, c.Total), age, oneLine(c.Author), oneLine(c.Title)},
	}
}
