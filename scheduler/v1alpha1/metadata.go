package v1alpha1

// Metadata is what the platform model uses of a Kubernetes object's metadata.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// IgnoredMetadata lists the fields of metadata that Kubernetes knows and the
// platform model does not use, sorted. They are no mistake in a document.
func IgnoredMetadata() []string {
	return []string{
		"creationTimestamp",
		"deletionGracePeriodSeconds",
		"deletionTimestamp",
		"finalizers",
		"generateName",
		"generation",
		"managedFields",
		"namespace",
		"ownerReferences",
		"resourceVersion",
		"selfLink",
		"uid",
	}
}
