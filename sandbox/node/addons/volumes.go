package addons

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	// class is the name of the StorageClass, which is kind's.
	class = "standard"
	// provisioner is how the StorageClass names this package.
	provisioner = "kalypso.dev/local-path"
	// folder is where the volumes are, below the node's /var.
	folder = "lib/kalypso-volumes"
)

// folders are the volumes of one node.
type folders struct {
	// data is the folder on this machine that is the node's /var.
	data string
	node string // its name
}

var _ controller.Provisioner = folders{}

// run makes the StorageClass unless it is there, and volumes for claims, until ctx
// ends; it returns why that was.
func (f folders) run(ctx context.Context, client kubernetes.Interface, log *slog.Logger, ready func()) error {
	_, err := client.StorageV1().StorageClasses().Create(ctx, storageClass(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("StorageClass %s: %w", class, err)
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	c := controller.NewProvisionController(ctx, client, provisioner, f, controller.LeaderElection(false), controller.Threadiness(1))
	ready()
	c.Run(ctx)
	if ctx.Err() == nil {
		return errors.New("the provisioner of volumes ended")
	}
	return ctx.Err()
}

func storageClass() *storagev1.StorageClass {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: class, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: provisioner, ReclaimPolicy: &reclaim, VolumeBindingMode: &binding,
	}
}

func (f folders) root() (*os.Root, error) {
	dir := path.Join(f.data, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// Provision makes a folder in which every user of a pod may write: who that is, the
// claim does not say.
func (f folders) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if o.PVC.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("a claim with a selector takes a volume that is there; StorageClass " + class + " makes new ones")
	}
	root, err := f.root()
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	defer root.Close()
	if err := root.Mkdir(o.PVName, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, controller.ProvisioningFinished, err
	}
	if err := root.Chmod(o.PVName, 0o777); err != nil { // the umask has taken some of it
		return nil, controller.ProvisioningFinished, err
	}
	kind := corev1.HostPathDirectoryOrCreate // it is not part of snapshots
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: path.Join("/var", folder, o.PVName), Type: &kind,
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{f.node}}},
			}}}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes a volume's folder. Its name is all that is taken from the object:
// who may write one is not to remove another folder.
func (f folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(volume.Name)
}
