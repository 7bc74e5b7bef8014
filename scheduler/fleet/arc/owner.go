package arc

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// azureCLI is the application that logins of the Azure CLI belong to.
const azureCLI = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"

// owner is whose an access token is, in words: its claims are not secret, and
// are only shown, so that nobody has to check their signature. It is "" for a
// token that does not tell.
func owner(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Tenant   string `json:"tid"`
		App      string `json:"appid"`
		User     string `json:"upn"`
		Other    string `json:"unique_name"`
		Identity string `json:"xms_mirid"`
	}
	if json.Unmarshal(b, &claims) != nil || claims.Tenant == "" {
		return ""
	}
	if claims.User == "" {
		claims.User = claims.Other
	}
	text := "application " + claims.App
	switch {
	case claims.Identity != "":
		text = "managed identity " + claims.Identity
	case claims.User != "" && claims.App == azureCLI:
		text = claims.User + ", logged in with the Azure CLI"
	case claims.User != "":
		text = claims.User
	}
	return text + " (tenant " + claims.Tenant + ")"
}
