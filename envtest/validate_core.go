package envtest

import (
	"encoding/json"
	"maps"
	"slices"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateTyped checks the built-in kinds whose limits tests run into. live is
// nil for a create.
func validateTyped(obj, live client.Object, subresource string) field.ErrorList {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		var errs field.ErrorList
		if live != nil {
			errs = keepConfigMap(obj, live.(*corev1.ConfigMap))
		}
		return append(errs, validateConfigMap(obj)...)
	case *corev1.Secret:
		var errs field.ErrorList
		if live != nil {
			errs = keepSecret(obj, live.(*corev1.Secret))
		}
		return append(errs, validateSecret(obj)...)
	case *corev1.Namespace:
		return validateNamespace(obj, subresource)
	}
	return nil
}

var dataPath = field.NewPath("data")

func validateConfigMap(m *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		errs = append(errs, validateKey(dataPath, key)...)
		if _, twice := m.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(dataPath.Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(m.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		errs = append(errs, validateKey(field.NewPath("binaryData"), key)...)
		size += len(m.BinaryData[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

func validateKey(path *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	for _, text := range utilvalidation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, text))
	}
	return errs
}

const immutable = "field is immutable when `immutable` is set"

// keepConfigMap refuses changes of one that says it is immutable.
func keepConfigMap(m, live *corev1.ConfigMap) field.ErrorList {
	if live.Immutable == nil || !*live.Immutable {
		return nil
	}
	var errs field.ErrorList
	if m.Immutable == nil || !*m.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutable))
	}
	if !equality.Semantic.DeepEqual(m.Data, live.Data) {
		errs = append(errs, field.Forbidden(dataPath, immutable))
	}
	if !equality.Semantic.DeepEqual(m.BinaryData, live.BinaryData) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), immutable))
	}
	return errs
}

func keepSecret(s, live *corev1.Secret) field.ErrorList {
	errs := validation.ValidateImmutableField(s.Type, live.Type, field.NewPath("type"))
	if live.Immutable == nil || !*live.Immutable {
		return errs
	}
	if s.Immutable == nil || !*s.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutable))
	}
	if !equality.Semantic.DeepEqual(s.Data, live.Data) {
		errs = append(errs, field.Forbidden(dataPath, immutable))
	}
	return errs
}

func validateSecret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		errs = append(errs, validateKey(dataPath, key)...)
		size += len(s.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(dataPath, "", corev1.MaxSecretSize))
	}
	return append(errs, validateSecretType(s)...)
}

// validateSecretType checks that a secret has what its type promises.
func validateSecretType(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	require := func(key string) (value []byte) {
		value, ok := s.Data[key]
		if !ok {
			errs = append(errs, field.Required(dataPath.Key(key), ""))
		}
		return value
	}
	requireJSON := func(key string) {
		if value := require(key); len(errs) == 0 {
			if err := json.Unmarshal(value, &map[string]any{}); err != nil {
				errs = append(errs, field.Invalid(dataPath.Key(key), "<secret contents redacted>", err.Error()))
			}
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(metadataPath.Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		requireJSON(corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		requireJSON(corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			require(corev1.BasicAuthUsernameKey)
			require(corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			errs = append(errs, field.Required(dataPath.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		require(corev1.TLSCertKey)
		require(corev1.TLSPrivateKeyKey)
	}
	return errs
}

// validateNamespace checks finalizers, and that the phase says what the deletion does.
func validateNamespace(ns *corev1.Namespace, subresource string) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "finalizers")
	for i, finalizer := range ns.Spec.Finalizers {
		at := path
		if subresource == "finalize" {
			at = path.Index(i)
		}
		errs = append(errs, validation.ValidateFinalizerName(string(finalizer), at)...)
		if unqualified(string(finalizer)) {
			errs = append(errs, field.Invalid(at, string(finalizer), "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	if subresource != "status" {
		return errs
	}
	phase := field.NewPath("status", "Phase")
	switch deleting := !ns.DeletionTimestamp.IsZero(); {
	case !deleting && ns.Status.Phase != corev1.NamespaceActive:
		errs = append(errs, field.Invalid(phase, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty"))
	case deleting && ns.Status.Phase != corev1.NamespaceTerminating:
		errs = append(errs, field.Invalid(phase, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}
