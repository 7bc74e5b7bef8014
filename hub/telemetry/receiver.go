package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	tracesPath = "/v1/traces"
	// receiverLimit is for one export where OTEL_EXPORTER_OTLP_TIMEOUT does not say.
	receiverLimit = 10 * time.Second
	// maxReceiverAnswer is how much of an answer is read, in bytes.
	maxReceiverAnswer = 64 << 10
)

// receiver is where traces are sent, by OTLP/HTTP with protobuf. The SDK's exporter would do
// the same, and link gRPC into the program.
type receiver struct {
	address string
	header  http.Header
	client  *http.Client
}

// newReceiver reads OpenTelemetry's environment variables; nil where they name no receiver.
func newReceiver(env func(string) string) (*receiver, error) {
	of := func(name string) (value, from string) {
		for _, from = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(env(from)); value != "" {
				return value, from
			}
		}
		return "", from
	}
	address, from := of("ENDPOINT")
	if address == "" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is no http or https URL, such as http://127.0.0.1:4318", from)
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath(tracesPath)
	}
	if protocol, from := of("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s is %s: the hub exports by http/protobuf, to the receiver's port for HTTP, which is 4318 as a rule", from, protocol)
	}
	r := &receiver{address: u.String(), header: http.Header{}, client: &http.Client{Timeout: receiverLimit}}
	if limit, from := of("TIMEOUT"); limit != "" {
		ms, err := strconv.ParseUint(limit, 10, 31)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s is no number of milliseconds", from)
		}
		r.client.Timeout = time.Duration(ms) * time.Millisecond
	}
	headers, from := of("HEADERS")
	for one := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is not of the form name=value,name=value", from)
		}
		r.header.Set(strings.TrimSpace(name), value)
	}
	return r, nil
}

// errRejected is wrapped where sending the same again cannot succeed.
var errRejected = errors.New("the receiver has refused it")

// send exports spans.
func (r *receiver) send(ctx context.Context, spans *collectorpb.ExportTraceServiceRequest) error {
	plain, err := proto.Marshal(spans)
	if err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	if _, err := zip.Write(plain); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, &body)
	if err != nil {
		return err
	}
	request.Header = r.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, maxReceiverAnswer))
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return fmt.Errorf("the receiver answers %s", response.Status)
	case status >= http.StatusMultipleChoices:
		return fmt.Errorf("%w: it answers %s", errRejected, response.Status)
	case err != nil:
		return err
	}
	var answer collectorpb.ExportTraceServiceResponse
	if proto.Unmarshal(said, &answer) == nil && answer.GetPartialSuccess().GetRejectedSpans() > 0 {
		return fmt.Errorf("%w: %d spans: %s", errRejected, answer.PartialSuccess.RejectedSpans, answer.PartialSuccess.ErrorMessage)
	}
	return nil
}
