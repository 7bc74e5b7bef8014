package arctest

import (
	"encoding/json"
	"net/http"
)

// refusal is an answer that says no
// (github.com/Azure/azure-resource-manager-rpc, "Error response content").
type refusal struct {
	status        int
	code, message string
}

func refuse(status int, code, message string) *refusal { return &refusal{status, code, message} }

func badRequest(message string) *refusal {
	return refuse(http.StatusBadRequest, "InvalidRequestContent", message)
}

func (r *refusal) write(w http.ResponseWriter) {
	write(w, r.status, map[string]any{"error": map[string]any{"code": r.code, "message": r.message}})
}

func write(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic("arctest: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
