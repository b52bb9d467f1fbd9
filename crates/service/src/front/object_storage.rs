//! Where the content of attachments is: a folder, or a bucket with the S3 protocol.

use std::fmt;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

/// How long a connection may take, and how long the storage may be silent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one operation may take, with its retries. Below the time limit of an upload.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);

/// After a failure the same request is sent again: all of them are idempotent.
const MAX_RETRIES: usize = 2;
const RETRY_WITHIN: Duration = Duration::from_secs(10);

/// Why the storage could not be opened, or an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum ObjectStorageError {
    #[error("cannot create the folder {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the object storage failed")]
    Failed(#[from] object_store::Error),
    #[error("the object storage did not respond within {} s", OPERATION_TIMEOUT.as_secs())]
    TimedOut,
}

/// A bucket and how to reach it.
#[derive(Debug, Clone)]
pub struct BucketOptions {
    pub bucket: String,
    pub region: String,
    /// The URL of the service; none for that of AWS.
    pub endpoint: Option<String>,
    /// None: the role of the machine.
    pub credentials: Option<BucketCredentials>,
}

/// The key of an account.
#[derive(Debug, Clone)]
pub struct BucketCredentials {
    pub access_key_id: String,
    pub secret_access_key: SecretString,
}

/// A content that is being read.
pub struct ObjectContent {
    pub size_bytes: u64,
    pub chunks: BoxStream<'static, object_store::Result<Bytes>>,
}

/// Stores objects. Cheap to clone.
#[derive(Clone)]
pub struct ObjectStorage(Arc<dyn ObjectStore>);

impl ObjectStorage {
    /// Uses a folder, which is created for this user alone. Objects are written beside their place and then renamed.
    pub fn in_folder(path: &Path) -> Result<Self, ObjectStorageError> {
        let failed = |source| ObjectStorageError::Folder { path: path.to_owned(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let folder = LocalFileSystem::new_with_prefix(path)?.with_fsync(true);
        Ok(Self(Arc::new(folder)))
    }

    /// Uses a bucket. Connects with the first operation.
    pub fn in_bucket(options: &BucketOptions) -> Result<Self, ObjectStorageError> {
        let client = ClientOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_read_timeout(READ_TIMEOUT)
            .with_timeout_disabled()
            .with_allow_http(options.endpoint.as_ref().is_some_and(|url| url.starts_with("http://")));
        let retry = RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_WITHIN,
            backoff: BackoffConfig::default(),
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&options.bucket)
            .with_region(&options.region)
            .with_client_options(client)
            .with_retry(retry);
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(credentials) = &options.credentials {
            builder = builder
                .with_access_key_id(&credentials.access_key_id)
                .with_secret_access_key(credentials.secret_access_key.expose_secret());
        }
        Ok(Self(Arc::new(builder.build()?)))
    }

    /// Stores an object whole, or not at all.
    pub async fn put(&self, key: &str, content: Vec<u8>) -> Result<(), ObjectStorageError> {
        let path = ObjectPath::from(key);
        bounded(self.0.put(&path, content.into())).await.map(drop)
    }

    /// Opens an object; `None` if there is none.
    pub async fn get(&self, key: &str) -> Result<Option<ObjectContent>, ObjectStorageError> {
        let path = ObjectPath::from(key);
        match bounded(self.0.get(&path)).await {
            Ok(found) => {
                let size_bytes = found.meta.size;
                Ok(Some(ObjectContent { size_bytes, chunks: found.into_stream().boxed() }))
            }
            Err(ObjectStorageError::Failed(object_store::Error::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object. Repeating it changes nothing.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectStorageError> {
        let path = ObjectPath::from(key);
        match bounded(self.0.delete(&path)).await {
            Ok(()) | Err(ObjectStorageError::Failed(object_store::Error::NotFound { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

async fn bounded<T>(
    operation: impl Future<Output = object_store::Result<T>>,
) -> Result<T, ObjectStorageError> {
    Ok(timeout(OPERATION_TIMEOUT, operation).await.map_err(|_| ObjectStorageError::TimedOut)??)
}

/// The kind of the storage and its name. Credentials are not shown.
impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStorage({})", self.0)
    }
}

impl fmt::Debug for ObjectContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectContent").field("size_bytes", &self.size_bytes).finish_non_exhaustive()
    }
}
