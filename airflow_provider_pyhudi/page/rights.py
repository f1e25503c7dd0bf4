"""What the user who is logged in may see, by Airflow's own permissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import (
    ConnectionDetails,
    DagAccessEntity,
    DagDetails,
)
from airflow.models import Connection
from airflow.models.dag import DagModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The rights of one user.

    A table is an asset: who may read assets may see the tables that the configuration lists. Those
    that a connection leads to are for who may read that connection, and a DAG run is named to who
    may read the runs of its DAG.
    """

    user: Any

    def may_see_tables(self) -> bool:
        """Whether there is a page for this user at all."""
        return bool(get_auth_manager().is_authorized_asset(method="GET", user=self.user))

    def may_read_connection(self, conn_id: str) -> bool:
        """Whether the user may read a connection."""
        details = ConnectionDetails(conn_id=conn_id, team_name=Connection.get_team_name(conn_id))
        return bool(
            get_auth_manager().is_authorized_connection(
                method="GET", details=details, user=self.user
            )
        )

    def may_read_runs(self, dag_id: str) -> bool:
        """Whether the user may read the runs of a DAG."""
        return bool(
            get_auth_manager().is_authorized_dag(
                method="GET",
                access_entity=DagAccessEntity.RUN,
                details=DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id)),
                user=self.user,
            )
        )
