use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use secrecy::SecretString;

use super::section::section;

section! {
    /// Images that applications upload for the messages of users. Without a folder and without a bucket the server takes
    /// none.
    Attachments = "attachments" {
        /// Folder for the images, accessible only to this server's user. For one machine; replicas on several machines
        /// need a bucket or a shared folder. `guildhall dev` uses its state folder.
        folder: String = "\"\"";
        /// Bucket for the images, instead of a folder. It needs the permissions to put, get and delete objects.
        bucket: String = "\"\"";
        /// URL of the service that has the bucket, such as `https://s3.example.org`. Empty: Amazon S3.
        endpoint: String = "\"\"";
        /// Region of the bucket.
        region: String = "\"us-east-1\"";
        /// Access key of the bucket. Empty: the role of the machine.
        access_key_id: String = "\"\"";
        /// Secret of the access key.
        secret_access_key: SecretString = "\"\"";
        /// Maximum size of an image in bytes. A replica holds as many bytes of uploads in memory as 16 of them have.
        max_bytes: NonZeroUsize = "10485760";
        /// Maximum size of all images of one user in one tenant that no conversation uses, in bytes. A small image counts
        /// for 4096.
        max_unreferenced_bytes: NonZeroU64 = "104857600";
        /// Time limit of an upload, instead of `http.request_timeout`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        upload_timeout: Duration = "\"1m\"";
        /// How long a signed URL is valid. It cannot be revoked.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        url_lifetime: Duration = "\"1h\"";
        /// An image is removed this long after its upload if no conversation has used it.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        unreferenced_after: Duration = "\"24h\"";
        /// Interval of the check for images to remove.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        collect_every: Duration = "\"5m\"";
    }
}
