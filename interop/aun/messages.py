"""All checks of messages."""

from basics import BasicChecks
from cursors import CursorChecks
from delivery import DeliveryChecks
from devices import DeviceChecks
from proofs import ProofChecks
from recall import RecallChecks
from refusals import RefusalChecks
from replicas import ReplicaChecks
from seals import SealChecks

ALL = (
    BasicChecks,
    DeliveryChecks,
    CursorChecks,
    RecallChecks,
    RefusalChecks,
    SealChecks,
    ReplicaChecks,
    DeviceChecks,
    ProofChecks,
)
