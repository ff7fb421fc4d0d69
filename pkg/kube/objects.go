package kube

// The types below are the parts of Kubernetes' API that manifests need, with its names. Fields keep
// the order in which manifests are usually written.

type object struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   metadata          `yaml:"metadata"`
	Data       map[string]string `yaml:"data,omitempty"`
	Spec       any               `yaml:"spec,omitempty"`
}

type metadata struct {
	Name        string            `yaml:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type serviceSpec struct {
	ClusterIP string            `yaml:"clusterIP"`
	Selector  map[string]string `yaml:"selector"`
	Ports     []servicePort     `yaml:"ports"`
}

type servicePort struct {
	Name string `yaml:"name"`
	Port int    `yaml:"port"`
}

type statefulSetSpec struct {
	ServiceName          string          `yaml:"serviceName"`
	Replicas             int             `yaml:"replicas"`
	PodManagementPolicy  string          `yaml:"podManagementPolicy"`
	Selector             labelSelector   `yaml:"selector"`
	ClaimRetention       *claimRetention `yaml:"persistentVolumeClaimRetentionPolicy,omitempty"`
	Template             podTemplate     `yaml:"template"`
	VolumeClaimTemplates []claimTemplate `yaml:"volumeClaimTemplates,omitempty"`
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type claimRetention struct {
	WhenDeleted string `yaml:"whenDeleted"`
	WhenScaled  string `yaml:"whenScaled"`
}

type claimTemplate struct {
	Metadata metadata  `yaml:"metadata"`
	Spec     claimSpec `yaml:"spec"`
}

type claimSpec struct {
	AccessModes      []string  `yaml:"accessModes,flow"`
	StorageClassName string    `yaml:"storageClassName,omitempty"`
	Resources        resources `yaml:"resources"`
}

type resources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits,omitempty"`
}

type jobSpec struct {
	BackoffLimit     int              `yaml:"backoffLimit"`
	PodFailurePolicy podFailurePolicy `yaml:"podFailurePolicy"`
	Template         podTemplate      `yaml:"template"`
}

type podFailurePolicy struct {
	Rules []failureRule `yaml:"rules"`
}

type failureRule struct {
	Action      string    `yaml:"action"`
	OnExitCodes exitCodes `yaml:"onExitCodes"`
}

type exitCodes struct {
	ContainerName string `yaml:"containerName"`
	Operator      string `yaml:"operator"`
	Values        []int  `yaml:"values,flow"`
}

type podTemplate struct {
	Metadata metadata `yaml:"metadata"`
	Spec     podSpec  `yaml:"spec"`
}

type podSpec struct {
	RestartPolicy   string      `yaml:"restartPolicy,omitempty"`
	MountToken      bool        `yaml:"automountServiceAccountToken"`
	ServiceLinks    bool        `yaml:"enableServiceLinks"`
	GracePeriod     int         `yaml:"terminationGracePeriodSeconds"`
	SecurityContext podSecurity `yaml:"securityContext"`
	Affinity        affinity    `yaml:"affinity"`
	Containers      []container `yaml:"containers"`
	Volumes         []volume    `yaml:"volumes,omitempty"`
}

type podSecurity struct {
	RunAsNonRoot   bool           `yaml:"runAsNonRoot"`
	RunAsUser      int            `yaml:"runAsUser"`
	RunAsGroup     int            `yaml:"runAsGroup"`
	FSGroup        int            `yaml:"fsGroup"`
	SeccompProfile seccompProfile `yaml:"seccompProfile"`
}

type seccompProfile struct {
	Type string `yaml:"type"`
}

type affinity struct {
	PodAntiAffinity podAntiAffinity `yaml:"podAntiAffinity"`
}

type podAntiAffinity struct {
	Required  []affinityTerm         `yaml:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	Preferred []weightedAffinityTerm `yaml:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

type weightedAffinityTerm struct {
	Weight int          `yaml:"weight"`
	Term   affinityTerm `yaml:"podAffinityTerm"`
}

type affinityTerm struct {
	LabelSelector labelSelector `yaml:"labelSelector"`
	TopologyKey   string        `yaml:"topologyKey"`
}

type container struct {
	Name            string            `yaml:"name"`
	Image           string            `yaml:"image"`
	ImagePullPolicy string            `yaml:"imagePullPolicy,omitempty"`
	WorkingDir      string            `yaml:"workingDir,omitempty"`
	Args            []string          `yaml:"args"`
	Env             []variable        `yaml:"env,omitempty"`
	Ports           []containerPort   `yaml:"ports,omitempty"`
	Resources       resources         `yaml:"resources"`
	StartupProbe    *probe            `yaml:"startupProbe,omitempty"`
	SecurityContext containerSecurity `yaml:"securityContext"`
	VolumeMounts    []volumeMount     `yaml:"volumeMounts,omitempty"`
}

type variable struct {
	Name      string       `yaml:"name"`
	Value     string       `yaml:"value,omitempty"`
	ValueFrom *valueSource `yaml:"valueFrom,omitempty"`
}

type valueSource struct {
	SecretKeyRef keyRef `yaml:"secretKeyRef"`
}

type keyRef struct {
	Name     string `yaml:"name"`
	Key      string `yaml:"key"`
	Optional bool   `yaml:"optional,omitempty"`
}

type containerPort struct {
	Name          string `yaml:"name"`
	ContainerPort int    `yaml:"containerPort"`
}

type probe struct {
	TCPSocket        tcpSocket `yaml:"tcpSocket"`
	PeriodSeconds    int       `yaml:"periodSeconds"`
	FailureThreshold int       `yaml:"failureThreshold"`
}

type tcpSocket struct {
	Port int `yaml:"port"`
}

type containerSecurity struct {
	Privileged               bool          `yaml:"privileged,omitempty"`
	AllowPrivilegeEscalation bool          `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRootFilesystem   bool          `yaml:"readOnlyRootFilesystem"`
	Capabilities             *capabilities `yaml:"capabilities,omitempty"`
}

type capabilities struct {
	Drop []string `yaml:"drop,flow"`
}

type volumeMount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	SubPath   string `yaml:"subPath,omitempty"`
	ReadOnly  bool   `yaml:"readOnly,omitempty"`
}

type volume struct {
	Name      string           `yaml:"name"`
	EmptyDir  *emptyDir        `yaml:"emptyDir,omitempty"`
	Secret    *secretVolume    `yaml:"secret,omitempty"`
	Projected *projectedVolume `yaml:"projected,omitempty"`
	Claim     *claimVolume     `yaml:"persistentVolumeClaim,omitempty"`
}

type emptyDir struct{}

type secretVolume struct {
	SecretName  string `yaml:"secretName"`
	DefaultMode int    `yaml:"defaultMode"`
}

type claimVolume struct {
	ClaimName string `yaml:"claimName"`
}

type projectedVolume struct {
	DefaultMode int         `yaml:"defaultMode"`
	Sources     []projected `yaml:"sources"`
}

type projected struct {
	ConfigMap *itemsOf `yaml:"configMap,omitempty"`
	Secret    *itemsOf `yaml:"secret,omitempty"`
}

type itemsOf struct {
	Name  string    `yaml:"name"`
	Items []keyPath `yaml:"items,omitempty"`
}

type keyPath struct {
	Key  string `yaml:"key"`
	Path string `yaml:"path"`
}
